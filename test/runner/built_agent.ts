/**
 * The agent in one file, and the programs that it starts, as the image runs them, bundled once per test run. Their
 * sources are those of the checkout.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_FILE, bundleAgent } from '../../images/agent_bundle.ts';
import { oncePerRun } from '../once_per_run.ts';

interface BuiltAgent {
  program: string;
  /** The modules that are in each file beside it, relative to the checkout. */
  inputs: ReadonlyMap<string, readonly string[]>;
}

const INPUTS = 'inputs.json';

export async function buildAgent(): Promise<BuiltAgent> {
  const folder = await oncePerRun('agent', async (made) => {
    const inputs = await bundleAgent(made, join(import.meta.dirname, '../../src'));
    writeFileSync(join(made, INPUTS), JSON.stringify([...inputs]));
  });
  const inputs = JSON.parse(readFileSync(join(folder, INPUTS), 'utf8')) as [string, string[]][];
  return { program: join(folder, AGENT_FILE), inputs: new Map(inputs) };
}
