/** One more tool in the catalog of a running API. */
import { PROBE_TOOLS } from '../../src/platform/kube/client.ts';
import type { ProbeTool } from '../../src/platform/kube/probe_tool.ts';
import { API_VERSION } from '../../src/platform/kube/resource.ts';
import type { ToolName } from '../../src/media/tools/table.ts';
import { until } from '../until.ts';
import type { ApiFixture } from './fixture.ts';

export async function addTool(api: ApiFixture, name: ToolName, version: string): Promise<void> {
  const object: ProbeTool = {
    apiVersion: API_VERSION,
    kind: 'ProbeTool',
    metadata: { name: `${name}-${version}`, namespace: api.namespace },
    spec: { tool: name, version, image: `tools/${name}:${version}`, latest: true, command: ['{root}/bin/tool'] },
  };
  await api.kube.create(PROBE_TOOLS, object);
  await api.kube.mergePatchStatus(
    PROBE_TOOLS,
    object.metadata.name,
    {
      conditions: [
        {
          type: 'Available',
          status: 'True',
          reason: 'Proven',
          message: '',
          lastTransitionTime: new Date().toISOString(),
        },
      ],
    },
    { namespace: api.namespace },
  );
  await until(`${name} is known`, () => api.wired.deps.catalog().versions(name).includes(version));
}
