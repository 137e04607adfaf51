/** The Model Context Protocol on the cluster: why a policy refused a file, with the official clients. */
import assert from 'node:assert/strict';
import { CLIENTS } from '../api/mcp/clients.ts';
import { cluster, type Cluster } from './fixture.ts';

const LIMIT = 24_000;
/** tiny.mp4 is a web file: a mezzanine is ProRes in MOV. */
const POLICY = 'shared/prores-mezzanine';

describe('/mcp', function () {
  this.timeout(180_000);
  let c: Cluster;
  let url: string;
  before(async () => {
    c = await cluster();
    url = `${(await c.origin()).url}/tiny.mp4`;
  });
  after(() => c.close());

  for (const [name, connect] of CLIENTS)
    it(`${name} finds in four calls why a policy refused a file`, async () => {
      const client = await connect(c.url, c.token);
      const ask = async (tool: string, args: object): Promise<string> => {
        const { text, isError, bytes } = await client.call(tool, args);
        assert.equal(isError, false, text);
        assert.ok(bytes < LIMIT, `${tool}: ${bytes} bytes`);
        return text;
      };
      const capabilities = await ask('list_capabilities', {});
      assert.ok(capabilities.includes(`"${POLICY}"`), capabilities);
      const verdict = await ask('check_policy', { url, policy: POLICY });
      assert.match(verdict, /Policy: fail\./);
      const id = /^request_id: (\S+)$/m.exec(verdict)![1]!;
      const [, failed] = /"rules_not_passed":(\[.*\]),"rules_passed"/.exec(verdict)!;
      const rules = JSON.parse(failed!) as { outcome: string; field?: string; actual?: string; expected?: string }[];
      const codec = rules.find(({ outcome, field }) => outcome === 'fail' && field === 'codec.name');
      assert.ok(codec?.actual?.includes('h264') && codec.expected?.includes('prores'), failed);
      const streams = await ask('get_result', { request_id: id, path: 'probe_report.response.streams' });
      assert.match(streams, /"name":"h264"/);
      const rule = await ask('list_capabilities', { policy: POLICY });
      assert.match(rule, /prores/);
      await client.close();
    });
});
