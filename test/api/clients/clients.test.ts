/** Clients generated from the description of a running API: they compile, and a probe has typed results. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { inputOf, reportOf } from '../../report/sample.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';
import { openapiPythonClient, openapiTypescript } from './generators.ts';

const exec = promisify(execFile);
const CLIENT_MS = 200_000;

const TYPESCRIPT = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api.ts';

declare const process: { argv: string[] };
const [, , baseUrl = '', token = '', url = ''] = process.argv;
const client = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${token}\` } });
const { data, error } = await client.POST('/v1/probe/file', { body: { url } });
if (typeof data !== 'object' || !('metadata' in data)) throw new Error(JSON.stringify(error));
const { probe_report: result } = data as components['schemas']['Envelope'];
const report = result?.response;
if (!report || typeof report === 'string') throw new Error('no report');
const width: number | undefined = report.size?.width;
const sound: components['schemas']['ReportStream'] | undefined = report.streams.find(({ type }) => type === 'audio');
console.log(JSON.stringify([report.codec?.name, width, sound?.channels, report.confidence['codec.name']]));
`;

const PYTHON = `
import json, sys
from client import AuthenticatedClient
from client.api.probe import probe_file
from client.models import Envelope, ProbeFileJsonBody, ProbeReport

base_url, token, url = sys.argv[1:]
answer = probe_file.sync(
    client=AuthenticatedClient(base_url=base_url, token=token, timeout=60), body=ProbeFileJsonBody(url=url)
)
assert isinstance(answer, Envelope), answer
report = answer.probe_report.response
assert isinstance(report, ProbeReport), report
sound = next(stream for stream in report.streams if stream.type_ == "audio")
print(json.dumps([report.codec.name, report.size.width, sound.channels, report.confidence["codec.name"]]))
`;

describe('a generated client', function () {
  this.timeout(2 * CLIENT_MS);
  const report = reportOf(inputOf('picture_and_sound.mkv'));
  const sound = report.streams.find(({ type }) => type === 'audio');
  const expected = [report.codec?.name, report.size?.width, sound?.channels, report.confidence['codec.name']];
  let api: ApiFixture;
  let folder: string;
  before(async () => {
    api = await startApi();
    folder = mkdtempSync(join(tmpdir(), 'probeyard-clients-'));
    const description = await fetch(`${api.url}/openapi.json`);
    writeFileSync(join(folder, 'openapi.json'), await description.text());
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  });
  after(async () => {
    await api.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const run = async (command: string, args: readonly string[], path = ''): Promise<string> => {
    const env = { ...process.env, PATH: `${path}${delimiter}${process.env['PATH']}` };
    return exec(command, args, { cwd: folder, timeout: CLIENT_MS, env }).then(
      ({ stdout }) => stdout,
      // The compiler prints its errors to standard output.
      (error: { message: string; stdout?: string }) => assert.fail(`${error.message}\n${error.stdout}`),
    );
  };

  /** Ends the client's request with a report made from real outputs. */
  async function probes(host: string, command: string, args: readonly string[]): Promise<void> {
    const printed = run(command, [...args, api.url, api.token, `https://${host}/film.mkv`]);
    printed.catch(() => {});
    const job = await Promise.race([api.job(host), printed.then((text) => assert.fail(`it ended early: ${text}`))]);
    const tools = [tool('ffprobe', '{"streams":[]}'), tool('mediainfo', '{"media":null}')];
    await api.end(job.metadata.name, {
      result: { tools, ioUsage: 1, report: { ...tool('ffprobe', JSON.stringify(report)), version: '1' } },
    });
    assert.deepEqual(JSON.parse(await printed), expected);
  }

  it('of openapi-typescript compiles and probes', async function () {
    const generator = openapiTypescript();
    if (!generator) return this.skip();
    const modules = join(generator, 'node_modules');
    symlinkSync(modules, join(folder, 'node_modules'));
    const cli = join(modules, 'openapi-typescript', 'bin', 'cli.js');
    // A field with a default may be left out.
    await run(process.execPath, [cli, 'openapi.json', '-o', 'api.ts', '--default-non-nullable=false']);
    writeFileSync(join(folder, 'probe.ts'), TYPESCRIPT);
    // Without the checks of TypeScript's own libraries, which take longer than that of the client.
    const settings =
      '--noEmit --strict --skipLibCheck --module nodenext --target es2024 --lib es2024,dom ' +
      '--allowImportingTsExtensions';
    await run(process.execPath, [join(modules, 'typescript', 'bin', 'tsc'), ...settings.split(' '), 'probe.ts']);
    await probes('typescript.test', process.execPath, ['probe.ts']);
  });

  it('of openapi-python-client compiles and probes', async function () {
    const generator = openapiPythonClient();
    if (!generator) return this.skip();
    const bin = join(generator, 'bin');
    const said = await run(
      join(bin, 'openapi-python-client'),
      ['generate', '--path', 'openapi.json', '--output-path', 'client', '--meta', 'none'],
      bin,
    );
    assert.ok(!/warning|error/i.test(said), said);
    writeFileSync(join(folder, 'probe.py'), PYTHON);
    await run(join(bin, 'python'), ['-m', 'compileall', '-q', 'client']);
    await probes('python.test', join(bin, 'python'), ['probe.py']);
  });
});
