/** The two programs of the package. */
import type { Option, Program } from './command.ts';
import { COMMANDS } from './commands/commands.ts';
import { KUBECTL_COMMANDS } from './kubectl/kubectl_commands.ts';

const EVERYWHERE: readonly Option[] = [
  { name: 'quiet', short: 'q', help: 'no progress and no notes' },
  { name: 'no-color', help: 'no colours; NO_COLOR=1 does the same' },
  { name: 'help', short: 'h', help: 'this help' },
];

export const PROGRAM: Program = {
  name: 'probeyard',
  summary: 'What is in a media file or stream, as ffprobe, mediainfo, an HLS validator and a C2PA check see it.',
  commands: COMMANDS,
  options: EVERYWHERE,
  notes: [
    'PROBEYARD_URL is the address of the API, PROBEYARD_TOKEN a token; probeyard login keeps both in a file that ' +
      'only you can read.',
    'Data goes to stdout, everything else to stderr. Exit codes: 0 done, 1 the file failed, 2 usage, 3 nothing could ' +
      'be found out.',
    'The reason of a failure is followed by its code: the host answered 403 (http-403). JSON and YAML have it as code.',
  ],
};

export const KUBECTL_PROGRAM: Program = {
  name: 'kubectl probeyard',
  summary: 'Look into a Probeyard on this cluster, with the rights of kubectl.',
  commands: KUBECTL_COMMANDS,
  options: EVERYWHERE,
  notes: [
    'Exit codes: 0 done, 1 the file failed, 2 usage, 3 nothing could be found out.',
    'probe, result and upgrade read results from the API, through kubectl port-forward, with the token in ' +
      'PROBEYARD_TOKEN or in a Secret that kubectl may read. Where kubectl sees no release they go to PROBEYARD_URL.',
  ],
};
