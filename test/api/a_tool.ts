import { PROVING } from '../../src/platform/kube/conditions.ts';
import { API_VERSION } from '../../src/platform/kube/resource.ts';
import type { ProbeTool } from '../../src/platform/kube/probe_tool.ts';
import type { ToolName } from '../../src/media/tools/table.ts';

export interface ToolWishes {
  latest?: boolean;
  /** Null: it is being proven. */
  available?: boolean | null;
  options?: string[][];
  warning?: string;
  reported?: string;
}

export function aTool(
  tool: ToolName,
  version: string,
  { latest = false, available = true, options = [], warning, reported }: ToolWishes = {},
): ProbeTool {
  return {
    apiVersion: API_VERSION,
    kind: 'ProbeTool',
    metadata: { name: `${tool}-${version}`, namespace: 'probeyard' },
    spec: { tool, version, image: 'image', latest, command: ['{root}/bin/tool'] },
    status: {
      conditions: [
        {
          type: 'Available',
          status: available === null ? 'Unknown' : available ? 'True' : 'False',
          reason: available === null ? PROVING : 'Proven',
          message: '',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
      ...(reported === undefined ? {} : { reported }),
      ...(warning === undefined ? {} : { warning }),
      architectures: options.map((list, index) => ({ arch: `arch${index}`, version, options: list })),
    },
  };
}
