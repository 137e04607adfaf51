/** The check of C2PA manifests: a program around the library, built from crates.io. */
import { TIMEOUT_MS } from '../limits.ts';
import { lastLine, type InFile, type InImage, type Program, type WithEndpoint } from './tool.ts';

/**
 * Where the operator's trust anchors and settings of the C2PA check are in the container of the tools; missing where
 * there are none.
 */
export const C2PA_CONFIG_DIR = '/etc/probeyard/c2pa';

export const c2pa: WithEndpoint<InFile<InImage<Program<'c2pa'>>>> = {
  name: 'c2pa',
  options: [],
  endpoint: { timeoutMs: TIMEOUT_MS, injectJson: false },
  args: (_options, address) => ['--config', C2PA_CONFIG_DIR, address],
  format: () => 'json',
  verifiesTls: () => true,
  /** A manifest that does not hold is a finding, and a file without one too: both exit with 0. */
  failure({ code, stderr }) {
    return code === 0 ? undefined : (lastLine(stderr) ?? 'c2pa failed without a message');
  },
  file: {
    byDefault: false,
    enables: 'Read and check the C2PA manifest.',
    description: 'The C2PA manifest.',
  },
  proof: {
    ask: { version: '--version', help: '--help' },
    says: /^c2pa (\S+)$/m,
    misreads: (said) =>
      said.startsWith('{"active_manifest":null,')
        ? undefined
        : 'it does not say that a WAV without a manifest has none',
  },
};
