/**
 * The agent in one file, and the programs that it starts, as the image runs them, bundled once per test run. Their
 * sources are those of the checkout.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENT_FILE, bundleAgent } from '../../images/agent_bundle.ts';

interface BuiltAgent {
  program: string;
  /** The modules that are in each file beside it, relative to the checkout. */
  inputs: ReadonlyMap<string, readonly string[]>;
}

let built: Promise<BuiltAgent> | undefined;

export const buildAgent = (): Promise<BuiltAgent> => (built ??= build());

async function build(): Promise<BuiltAgent> {
  const directory = mkdtempSync(join(tmpdir(), 'probeyard-agent-bundle-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const inputs = await bundleAgent(directory, join(import.meta.dirname, '../../src'));
  return { program: join(directory, AGENT_FILE), inputs };
}
