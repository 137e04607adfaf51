/** The agent in one file, as the image runs it, bundled once per test run. Its sources are those of the checkout. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENT_FILE, bundleAgent } from '../../images/agent_bundle.ts';

interface BuiltAgent {
  program: string;
  /** The files that are in it, relative to the checkout. */
  inputs: readonly string[];
}

let built: Promise<BuiltAgent> | undefined;

export const buildAgent = (): Promise<BuiltAgent> => (built ??= build());

async function build(): Promise<BuiltAgent> {
  const directory = mkdtempSync(join(tmpdir(), 'probeyard-agent-bundle-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const inputs = await bundleAgent(directory, join(import.meta.dirname, '../../src'));
  return { program: join(directory, AGENT_FILE), inputs };
}
