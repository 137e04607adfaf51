/** ProbeTool: one tool at one version. */
import Type, { type Static } from 'typebox';
import { PROOF_LIMITS } from '../../media/tools/proof.ts';
import { TOOLS } from '../../media/tools/table.ts';
import {
  AGE,
  conditions,
  count,
  flag,
  listOf,
  mapOf,
  observedGeneration,
  oneOf,
  optional,
  shownText,
  text,
  type Definition,
  type Resource,
} from './resource.ts';

const ProbeToolSpec = Type.Object({
  tool: oneOf(TOOLS, 'The tool, by its name in the API.'),
  version: text(64, 'The name that callers use.', { minLength: 1, pattern: '^[0-9A-Za-z][0-9A-Za-z._-]*$' }),
  image: shownText(1024, 'The tool image, by digest where it is known.', { minLength: 1 }),
  latest: Type.Optional(flag('Callers who name no version get this one.')),
  command: Type.Array(Type.String({ maxLength: 1024, minLength: 1 }), {
    minItems: 1,
    maxItems: 16,
    description:
      'The command and its first arguments. {root} stands for the place where the image is mounted, {node} for the ' +
      'Node of the runner.',
  }),
});
export type ProbeToolSpec = Static<typeof ProbeToolSpec>;

const ProbeToolStatus = Type.Object({
  conditions,
  observedGeneration,
  proof: Type.Optional(text(128, 'The proof that the conditions rest on, by image, command and image of the runners.')),
  reported: Type.Optional(text(PROOF_LIMITS.version, 'What the binary says of its version, in short.')),
  warning: Type.Optional(text(4096, 'Known vulnerabilities of this version (values: tools.showVulnerabilities).')),
  architectures: Type.Optional(
    mapOf(
      Type.Object({
        arch: text(32, 'The architecture, as amd64.'),
        version: text(PROOF_LIMITS.version, 'The first line that the binary printed of its version.'),
        ...optional({
          startupMs: count('Milliseconds until it had printed its version.'),
          options: listOf(text(PROOF_LIMITS.optionLength), PROOF_LIMITS.options, 'Options that the binary knows.'),
          protocols: listOf(
            text(PROOF_LIMITS.protocolLength),
            PROOF_LIMITS.protocols,
            'Protocols that the binary was built with.',
          ),
        }),
      }),
      ['arch'],
      8,
      'What the proof found, by architecture.',
    ),
  ),
});
export type ProbeToolStatus = Static<typeof ProbeToolStatus>;

export type ProbeTool = Resource<ProbeToolSpec, ProbeToolStatus>;

export const PROBE_TOOL: Definition = {
  kind: 'ProbeTool',
  plural: 'probetools',
  short: 'pt',
  description: 'One tool at one version, as an image that runners mount.',
  spec: ProbeToolSpec,
  status: ProbeToolStatus,
  columns: [
    { name: 'Tool', type: 'string', jsonPath: '.spec.tool' },
    { name: 'Version', type: 'string', jsonPath: '.spec.version' },
    { name: 'Latest', type: 'boolean', jsonPath: '.spec.latest' },
    { name: 'Available', type: 'string', jsonPath: ".status.conditions[?(@.type=='Available')].status" },
    { name: 'Reason', type: 'string', jsonPath: ".status.conditions[?(@.type=='Available')].reason" },
    { name: 'Reported', type: 'string', jsonPath: '.status.reported' },
    AGE,
    { name: 'Image', type: 'string', jsonPath: '.spec.image', priority: 1 },
  ],
  selectable: ['.spec.tool'],
};
