/**
 * A tool gets an endpoint of its own by its descriptor. wavinfo_endpoint.patch gives one to the tool of wavinfo.patch,
 * in a copy of this checkout. There it is described, called, counted and answered.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Kind } from '../../src/platform/kube/probe_job.ts';
import type { ToolName } from '../../src/media/tools/table.ts';
import { until } from '../until.ts';
import { patched, type Checkout } from './checkout.ts';

const NAME = 'wavinfo' as ToolName & Kind;
const PATH = '/v1/probe/wavinfo';
const OUTPUT = '{"format":"wav","channels":1,"sample_rate":8000,"bits":16}';

describe('an endpoint for a new tool', function () {
  this.timeout(300_000);
  let checkout: Checkout;
  const load = <T>(path: string): Promise<T> => import(join(checkout.path, path)) as Promise<T>;
  before(async () => {
    checkout = await patched('wavinfo.patch', 'wavinfo_endpoint.patch');
  });
  after(() => checkout?.remove());

  it('touches at most five files, the tool included', () => {
    assert.ok(checkout.changed.length > 0 && checkout.changed.length <= 5, checkout.changed.join(', '));
  });

  it('passes the type check', async () => {
    await checkout.typeCheck();
  });

  it('is described, with who may call it', async () => {
    const { ENDPOINTS } =
      await load<typeof import('../../src/service/api/endpoints.ts')>('src/service/api/endpoints.ts');
    const own = ENDPOINTS.filter(({ operation }) => operation.path === PATH);
    assert.deepEqual(
      own.map(({ operation: { method, id, permission } }) => [method, id, permission]),
      [
        ['get', 'probeWavinfoByQuery', 'write:media'],
        ['post', 'probeWavinfo', 'write:media'],
      ],
    );
    for (const { operation } of own)
      assert.match(JSON.stringify(operation.responses[200]), /"WavinfoEnvelope".*"WavReport"/);
  });

  it('is a kind of job that a pool of the chart serves', async () => {
    const { KINDS } = await load<typeof import('../../src/platform/kube/probe_job.ts')>(
      'src/platform/kube/probe_job.ts',
    );
    assert.ok(KINDS.includes(NAME));
    const values = parse(readFileSync(join(checkout.path, 'charts/probeyard/values.yaml'), 'utf8')) as {
      pools: Record<string, { serves: { kinds: string[] } }>;
    };
    const served = Object.values(values.pools).flatMap(({ serves }) => serves.kinds);
    assert.deepEqual(
      KINDS.filter((kind) => !served.includes(kind)),
      [],
    );
  });

  it('is called, answered, read back and counted', async () => {
    // `make generate`: the API server gets the custom resources of this checkout.
    await checkout.run(process.execPath, 'charts/generate.ts');
    const { startApi, tool } = await load<typeof import('../api/fixture.ts')>('test/api/fixture.ts');
    const { aTool } = await load<typeof import('../api/a_tool.ts')>('test/api/a_tool.ts');
    const { PROBE_TOOLS } =
      await load<typeof import('../../src/platform/kube/client.ts')>('src/platform/kube/client.ts');
    const api = await startApi();
    try {
      const { status, ...object } = aTool(NAME, '1.0', { latest: true });
      object.metadata.namespace = api.namespace;
      await api.kube.create(PROBE_TOOLS, object);
      await api.kube.mergePatchStatus(PROBE_TOOLS, object.metadata.name, { ...status }, { namespace: api.namespace });
      await until('the tool is known', () => api.wired.deps.catalog().versions(NAME).length > 0);

      const headers = { Authorization: `Bearer ${api.token}` };
      const answering = fetch(`${api.url}${PATH}?url=https://voice.test/a.wav`, { headers });
      const job = await api.job('voice.test');
      assert.deepEqual([job.spec.kind, job.spec.tools?.map(({ name }) => name)], [NAME, [NAME]]);
      const id = job.metadata.name;
      await api.end(id, { result: { tools: [tool(NAME, OUTPUT)], ioUsage: 77 }, asked: [{ name: NAME }] });
      assert.equal(await (await answering).text(), OUTPUT);

      const envelope = (await (await fetch(`${api.url}/v1/probe/${id}`, { headers })).json()) as { output: unknown };
      assert.deepEqual(envelope.output, JSON.parse(OUTPUT));

      const counted = async () => {
        const day = { from: new Date(Date.now() - 86_400_000), to: new Date(Date.now() + 86_400_000) };
        const owners = { userIds: [api.userId], tokenIds: null };
        const [figures] = await api.stored.store.usageFigures('requests', owners, day, 'no-aggregation');
        return [figures?.values[NAME], figures?.values['file'], figures?.values['success']];
      };
      assert.deepEqual(await counted(), [1, 0, 1]);
      await api.stored.store.foldUsage({ restSeconds: -3_600 });
      assert.deepEqual(await counted(), [1, 0, 1], 'folded');
    } finally {
      await api.stop();
    }
  });
});
