/** The checks of the protocol's own inspector and conformance suite, as far as they need no server of their own. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { fetched, npmInstall } from '../../cli/fetched.ts';
import { execute, type Printed } from '../../cli/rig.ts';
import { unlessLong } from '../../long.ts';
import { startApi, type ApiFixture } from '../fixture.ts';
import { TOOLS } from './tools.ts';

const INSPECTOR = '@modelcontextprotocol/inspector';
const CONFORMANCE = '@modelcontextprotocol/conformance';
/** The others call tools, prompts and resources of a server made for them. */
const SCENARIOS = ['server-initialize', 'ping', 'tools-list'];

/** The program of a package, at a path in it. */
function programOf(name: string, version: string, path: string): string | null {
  const proof = join('node_modules', name, path);
  const short = name.split('/').at(-1);
  const folder = fetched({ name: `mcp/${short}-${version}`, steps: [npmInstall(`${name}@${version}`)], proof });
  return folder === null ? null : join(folder, proof);
}

describe('/mcp, by the tools of the protocol', function () {
  this.timeout(600_000);
  let api: ApiFixture;
  before(async function () {
    unlessLong(this, 'the inspector and its packages are 140 MB');
    api = await startApi();
  });
  after(() => api?.stop());

  const run = (program: string, args: readonly string[]): Promise<Printed> =>
    execute([process.execPath, program, ...args], { timeoutMs: 120_000 });

  for (const era of ['legacy', 'modern'])
    it(`the inspector lists the tools, and calls one (${era})`, async function () {
      const program = programOf(INSPECTOR, '2.12.0', 'clients/launcher/build/index.js');
      if (program === null) return this.skip();
      const inspect = async (...args: string[]): Promise<unknown> => {
        const server = ['--server-url', `${api.url}/mcp`, '--header', `Authorization: Bearer ${api.token}`];
        const { code, stdout, stderr } = await run(program, [
          '--cli',
          ...server,
          `--protocol-era=${era}`,
          '--format=json',
          ...args,
        ]);
        assert.equal(code, 0, `${stdout.toString()}${stderr}`);
        return (JSON.parse(stdout.toString()) as { result: unknown }).result;
      };
      const { tools } = (await inspect('--method', 'tools/list')) as { tools: { name: string }[] };
      assert.deepEqual(
        tools.map(({ name }) => name),
        TOOLS,
      );
      const called = await inspect('--method', 'tools/call', '--tool-name', 'list_capabilities');
      const { content, isError } = called as { content: { text: string }[]; isError?: boolean };
      assert.ok(isError !== true && /ffprobe/.test(content[0]?.text ?? ''), JSON.stringify(called));
    });

  for (const scenario of SCENARIOS)
    it(`the conformance suite: ${scenario}`, async function () {
      const program = programOf(CONFORMANCE, '0.1.16', 'dist/index.js');
      if (program === null) return this.skip();
      const url = `${api.url}/mcp?token=${api.token}`;
      const { code, stdout, stderr } = await run(program, ['server', '--url', url, '--scenario', scenario]);
      assert.equal(code, 0, `${stdout.toString()}${stderr}`);
      assert.match(stdout.toString(), /0 failed/);
    });
});
