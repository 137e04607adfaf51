/**
 * A new tool is one descriptor. wavinfo.patch adds one to a copy of this checkout, as a newcomer would. There it is
 * type-checked, built, proven, requested, run by a real agent and answered.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Catalog as ImageCatalog } from '../../images/catalog.ts';
import { sampleWav } from '../../src/service/runner/verify_sample.ts';
import type { ToolName } from '../../src/media/tools/table.ts';
import { patched, type Checkout } from './checkout.ts';
import { unlessLong } from '../long.ts';

const NAME = 'wavinfo' as ToolName;

describe('a new tool', function () {
  this.timeout(300_000);
  let checkout: Checkout;
  const load = <T>(path: string): Promise<T> => import(join(checkout.path, path)) as Promise<T>;
  before(async function () {
    unlessLong(this, 'the test of an endpoint adds the same tool');
    checkout = await patched('wavinfo.patch');
  });
  after(() => checkout?.remove());

  it('touches at most four files', () => {
    assert.ok(checkout.changed.length > 0 && checkout.changed.length <= 4, checkout.changed.join(', '));
  });

  it('passes the type check', async () => {
    await checkout.typeCheck();
  });

  it('is described in the API and allowed in the custom resources', async () => {
    const { EnvelopeSchema } = await load<typeof import('../../src/service/api/probe/answer_schemas.ts')>(
      'src/service/api/probe/answer_schemas.ts',
    );
    assert.ok(NAME in EnvelopeSchema.properties);
    const { PROBE_TOOL } = await load<typeof import('../../src/platform/kube/probe_tool.ts')>(
      'src/platform/kube/probe_tool.ts',
    );
    assert.match(JSON.stringify(PROBE_TOOL.spec), /"wavinfo"/);
  });

  it('is built from the catalog, proven, requested, run and answered', async () => {
    const { readCatalog } = await load<typeof import('../../images/catalog.ts')>('images/catalog.ts');
    const { layOut } = await load<typeof import('../../images/tool_tree.ts')>('images/tool_tree.ts');
    const { Rig } = await load<typeof import('../runner/agent_rig.ts')>('test/runner/agent_rig.ts');
    const entry = readCatalog().tools.find(({ tool }: ImageCatalog['tools'][number]) => tool === NAME)!;
    const rig = new Rig();
    try {
      await rig.start();
      await rig.newAgent();
      await layOut(entry, join(rig.directory, NAME, entry.version));
      const proof = await prove(entry, rig.directory);
      assert.deepEqual([proof.ok, proof.ok && proof.version], [true, 'wavinfo 1.0'], JSON.stringify(proof));

      const wav = sampleWav();
      rig.serve = (_request, response) => {
        response.writeHead(200, { 'content-type': 'audio/wav', 'content-length': wav.length }).end(wav);
      };
      const selection = await select({ url: `${rig.originUrl}/a.wav`, only: NAME });
      assert.deepEqual(selection.shown, [NAME]);
      const assigned = selection.tools.map((tool) => ({
        name: tool.name,
        version: tool.version,
        timeoutMs: 30_000,
        options: {},
        command: entry.command,
      }));
      const { body } = await rig.run(rig.go(assigned));
      assert.deepEqual(await answer(body, selection), {
        success: true,
        sections: [NAME],
        response: { format: 'wav', channels: 1, sample_rate: 8000, bits: 16 },
      });
    } finally {
      await rig.stop();
    }
  });

  async function prove(entry: ImageCatalog['tools'][number], toolsDir: string) {
    const { verify } = await load<typeof import('../../src/service/runner/verify.ts')>('src/service/runner/verify.ts');
    const { tool, version, command } = entry;
    return verify({ tool, version, command }, { toolsDir, nodePath: process.execPath });
  }

  async function select(request: object) {
    const { makeReader } = await load<typeof import('../../src/service/api/http/input/read_fields.ts')>(
      'src/service/api/http/input/read_fields.ts',
    );
    const { ProbeFileSchema, selectTools } = await load<typeof import('../../src/service/api/probe/file_request.ts')>(
      'src/service/api/probe/file_request.ts',
    );
    const { catalogOf } = await load<typeof import('../../src/service/api/probe/tool_versions.ts')>(
      'src/service/api/probe/tool_versions.ts',
    );
    const { aTool } = await load<typeof import('../api/a_tool.ts')>('test/api/a_tool.ts');
    const read = makeReader<Parameters<typeof selectTools>[0]>(ProbeFileSchema);
    return selectTools(read({ form: 'json', value: request }), catalogOf([aTool(NAME, '1.0', { latest: true })]));
  }

  type Selection = Awaited<ReturnType<typeof select>>;
  type Body = import('../result/text_body.ts').TextBody;
  async function answer(body: Body, { tools, shown }: Selection) {
    const { outcome } = await load<typeof import('../../src/service/controller/collect/outcome.ts')>(
      'src/service/controller/collect/outcome.ts',
    );
    const { answerOf } =
      await load<typeof import('../../src/service/result/answer.ts')>('src/service/result/answer.ts');
    const { inMemory } = await load<typeof import('../result/text_body.ts')>('test/result/text_body.ts');
    const unpacked = inMemory(body);
    assert.equal(outcome(unpacked.result, tools).status, 200);
    const { body: text } = answerOf(
      unpacked,
      { requestId: 'id', queueTimeMs: 0, error: null },
      { shown, injectOutput: false, injectJson: false },
    );
    const { success, metadata: _, ...sections } = JSON.parse(String(text)) as Record<string, { response: unknown }>;
    return { success, sections: Object.keys(sections), response: sections[NAME]?.response };
  }
});
