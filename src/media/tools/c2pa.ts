/** The check of C2PA manifests: a program around the library, built from crates.io. */
import { TIMEOUT_MS } from '../../base/limits.ts';
import { lastLine, type InFile, type InImage, type Program, type WithEndpoint } from './tool.ts';

/** Path of the operator's trust anchors and settings in the tools container; missing if there are none. */
export const C2PA_CONFIG_DIR = '/etc/probeyard/c2pa';

const PHOTO = 'https://media.example.com/photo.jpg';

export const c2pa: WithEndpoint<InFile<InImage<Program<'c2pa'>>>> = {
  name: 'c2pa',
  options: [],
  endpoint: {
    timeoutMs: TIMEOUT_MS,
    injectJson: false,
    summary: 'Check the C2PA manifest of a file',
    description:
      'Reads and validates the C2PA manifest store of a file: JPEG, PNG, AVIF, HEIC, HEIF, DNG, TIFF, ' +
      'WebP, MP4, MOV, AVI, MP3, M4A, WAV, PDF, SVG. A file without a manifest is a success with a null ' +
      '`active_manifest`; a file with an Invalid manifest is a success too. Only the source is fetched.',
    examples: {
      bare: { summary: 'The bare report', value: { url: PHOTO } },
      enveloped: {
        summary: 'Enveloped, the report as an object',
        value: { url: PHOTO, inject_output: false, inject_json: true },
      },
    },
  },
  args: (_options, address) => ['--config', C2PA_CONFIG_DIR, address],
  format: () => 'json',
  reads: ['image', 'document', 'xml'],
  verifiesTls: () => true,
  /** An invalid manifest is a finding, and so is a missing one: both exit with 0. */
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
