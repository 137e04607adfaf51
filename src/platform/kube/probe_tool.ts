/** ProbeTool: one tool at one version. */
import Type, { type Static } from 'typebox';
import { PROOF_LIMITS } from '../../media/tools/proof.ts';
import { TOOLS } from '../../media/tools/table.ts';
import {
  AGE,
  conditions,
  count,
  observedGeneration,
  oneOf,
  shownText,
  text,
  type Definition,
  type Resource,
} from './resource.ts';

const ProbeToolSpec = Type.Object({
  tool: oneOf(TOOLS, { description: 'The tool, by its name in the API.' }),
  version: text(64, {
    minLength: 1,
    pattern: '^[0-9A-Za-z][0-9A-Za-z._-]*$',
    description: 'The name that callers use.',
  }),
  image: shownText(1024, { minLength: 1, description: 'The tool image, by digest where it is known.' }),
  latest: Type.Optional(Type.Boolean({ description: 'Callers who name no version get this one.' })),
  command: Type.Array(text(1024, { minLength: 1 }), {
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
  proof: Type.Optional(
    text(128, { description: 'The proof that the conditions rest on, by image, command and image of the runners.' }),
  ),
  reported: Type.Optional(
    text(PROOF_LIMITS.version, { description: 'What the binary says of its version, in short.' }),
  ),
  warning: Type.Optional(
    text(4096, { description: 'Known vulnerabilities of this version (values: tools.showVulnerabilities).' }),
  ),
  architectures: Type.Optional(
    Type.Array(
      Type.Object({
        arch: text(32, { description: 'The architecture, as amd64.' }),
        version: text(PROOF_LIMITS.version, { description: 'The first line that the binary printed of its version.' }),
        startupMs: Type.Optional(count({ description: 'Milliseconds until it had printed its version.' })),
        options: Type.Optional(
          Type.Array(text(PROOF_LIMITS.optionLength), {
            maxItems: PROOF_LIMITS.options,
            'x-kubernetes-list-type': 'atomic',
            description: 'Options that the binary knows.',
          }),
        ),
        protocols: Type.Optional(
          Type.Array(text(PROOF_LIMITS.protocolLength), {
            maxItems: PROOF_LIMITS.protocols,
            'x-kubernetes-list-type': 'atomic',
            description: 'Protocols that the binary was built with.',
          }),
        ),
      }),
      {
        maxItems: 8,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['arch'],
        description: 'What the proof found, by architecture.',
      },
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
