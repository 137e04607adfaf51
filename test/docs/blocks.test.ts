/** Every code block of the guides: run against the API on its real servers, or read by what reads such a block. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { PAGES } from '../../docs/site/pages.ts';
import { readPolicyText } from '../../src/media/policy/read.ts';
import { signedHeaders } from '../../src/service/webhooks/send.ts';
import { startApi, type ApiFixture } from '../api/fixture.ts';
import { freePort } from '../free_port.ts';
import { sendFile, startOrigin, type Origin } from '../source/origin.ts';
import { until } from '../until.ts';
import { secretText } from '../webhooks/receiver.ts';
import { allowAllOptions, answering, type Answering } from './answers.ts';
import { blocksOf, type Block } from './blocks.ts';
import { prepare, programs, type Command, type Program } from './programs.ts';

const exec = promisify(execFile);
const BLOCK_MS = 120_000;
const blocks = PAGES.filter(
  ({ file }) => file.startsWith('guides/') || ['quickstart.md', 'batches.md', 'bucket-sources.md'].includes(file),
).flatMap(({ file }) => blocksOf(file));
const valuesSchema = JSON.parse(
  readFileSync(new URL('../../charts/probeyard/values.schema.json', import.meta.url), 'utf8'),
) as object;

/** A policy, a file for a CI service, which alone can run it, or values of the chart. */
function readYaml(code: string): void {
  const value = parse(code) as Record<string, unknown>;
  if ('rules' in value) readPolicyText(code, 'application/yaml');
  else if (/^ +(?:steps|script):$/m.test(code)) console.log('        parsed only: a CI service runs it');
  else {
    const validate = new Ajv({ strict: false }).compile(valuesSchema);
    assert.ok(validate(value), JSON.stringify(validate.errors));
  }
}

const READERS: Readonly<Record<string, (code: string) => void>> = { yaml: readYaml, json: (code) => JSON.parse(code) };
/** Of programs that are not on this machine and in no package of Debian's main archive. */
const UNREAD: readonly string[] = ['groovy'];
/** A block that is not run says why. More of them than these are an error: they are never found wrong. */
const MOST_NOT_RUN = 15;

describe('documentation: code blocks', function () {
  this.timeout(2 * BLOCK_MS);
  let api: ApiFixture;
  let origin: Origin;
  let answers: Answering;
  let folder: string;
  let environment: Record<string, string>;
  let byLanguage: Readonly<Record<string, Program>>;
  before(async () => {
    const film = readFileSync(new URL('../fixtures/tiny.mp4', import.meta.url));
    origin = await startOrigin((request, response) => sendFile(film, request, response));
    api = await startApi({ allowSources: [{ cidr: '127.0.0.1/32' }] });
    await allowAllOptions(api);
    answers = answering(api);
    folder = mkdtempSync(join(tmpdir(), 'probeyard-docs-'));
    byLanguage = await programs();
    environment = {
      ...(await prepare(folder)),
      HOME: process.env['HOME'] ?? folder,
      PROBEYARD_URL: api.url,
      PROBEYARD_TOKEN: api.token,
      SOURCE: `${origin.url}/film.mp4`,
      PLAYLIST: `${origin.url}/main.m3u8`,
    };
  });
  after(async () => {
    await answers?.stop();
    await api?.stop();
    await origin?.close();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  /** A folder of its own below that of all, whose modules it finds. */
  function written({ code }: Block, { file }: Program): { own: string; path: string } {
    const own = join(folder, randomBytes(4).toString('hex'));
    mkdirSync(own);
    writeFileSync(join(own, file), code);
    return { own, path: join(own, file) };
  }

  const run = async ({ program, args, env = {} }: Command, cwd: string): Promise<string> =>
    exec(program, args, { cwd, env: { ...environment, ...env }, timeout: BLOCK_MS }).then(
      ({ stdout }) => stdout,
      (error: { message: string; stdout?: string }) => assert.fail(`${error.message}\n${error.stdout}`),
    );

  async function receives(block: Block, program: Program): Promise<void> {
    const { own, path } = written(block, program);
    const port = await freePort();
    const all = program.commands(path);
    for (const command of all.slice(0, -1)) await run(command, own);
    const { program: name, args, env } = program.serve?.(path, port) ?? all.at(-1)!;
    const secret = randomBytes(32);
    const started = spawn(name, args, {
      cwd: own,
      env: { ...environment, ...env, PORT: String(port), WEBHOOK_SECRET: secretText(secret) },
      stdio: 'ignore',
    });
    const body = Buffer.from('{"type":"probe.completed","success":true,"name":"é"}');
    const send = async (at = new Date(), sent = body, key = secret) => {
      const headers = signedHeaders(key, { id: 'a-delivery', at, body });
      return (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: sent })).status;
    };
    try {
      assert.equal(await until('the receiver answers', () => send().catch(() => undefined), 60_000), 204);
      assert.equal(await send(new Date(), Buffer.from('{"success":true}')), 400, 'another body');
      assert.equal(await send(new Date(Date.now() - 3_600_000)), 400, 'an old delivery');
      assert.equal(await send(new Date(), body, randomBytes(32)), 400, 'another secret');
    } finally {
      const ended = once(started, 'exit');
      started.kill('SIGKILL');
      await ended;
    }
  }

  it('every page has a title for each block', () => {
    assert.ok(blocks.length > 30, `${blocks.length} blocks`);
    assert.deepEqual(
      blocks.filter(({ title }) => title === '').map(({ page }) => page),
      [],
    );
  });

  const isRun = ({ notRun, language }: Block): boolean => notRun === undefined && !UNREAD.includes(language);
  it('all blocks but a few are run', () => {
    const notRun = blocks.filter((block) => !isRun(block)).map(({ page, title }) => `${page}: ${title}`);
    assert.ok(notRun.length <= MOST_NOT_RUN, notRun.join('\n'));
  });

  for (const [index, block] of blocks.entries()) {
    const { page, title, language, code, prints, isReceiver } = block;
    const name = `${page}, ${index + 1}. ${title} (${language})`;
    if (!isRun(block)) continue;
    it(name, async function () {
      const reader = READERS[language];
      if (reader) return reader(code);
      const program = byLanguage[language];
      assert.ok(program, `nothing runs ${language}`);
      if (program.missing !== undefined) {
        console.log(`        skipped: ${program.missing}`);
        return this.skip();
      }
      if (isReceiver) return receives(block, program);
      const { own, path } = written(block, program);
      assert.ok(prints, 'the block does not say what it prints');
      let printed = '';
      for (const command of program.commands(path)) printed = await run(command, own);
      assert.match(printed, prints);
    });
  }
});
