/** One more tool in the catalog of a running API. */
import type { ToolName } from '../../src/media/tools/table.ts';
import { until } from '../until.ts';
import { createTool, type ApiFixture } from './fixture.ts';

export async function addTool(api: ApiFixture, name: ToolName, version: string): Promise<void> {
  await createTool(api, name, version, { latest: true });
  await until(`${name} is known`, () => api.wired.deps.catalog().versions(name).includes(version));
}
