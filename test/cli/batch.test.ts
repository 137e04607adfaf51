/** `probeyard batch` beside a real installation: real tools, real servers, a process of its own. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BatchDiff } from '../../src/api_types.ts';
import { exitOf, progressLine } from '../../src/cli/commands/batch_command.ts';
import { makeApi } from '../../src/cli/api/api_client.ts';
import type { Invocation } from '../../src/cli/command.ts';
import { diffBatches, joined } from '../../src/cli/commands/batch_diff.ts';
import { until } from '../until.ts';
import { ended, startInstallation, type Installation, type RunOptions } from './rig.ts';

const fixtures = join(import.meta.dirname, '../fixtures');
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\n$/;
const NO_BATCH = '019a5f3e-8a00-7000-8000-000000000001';

describe('batch: the exit code of wait', () => {
  const none = { waiting: 0, running: 0, success: 0, 'with-errors': 0, error: 0, skipped: 0 };
  for (const [what, state, counts, code, reason = 'Completed'] of [
    ['every source succeeded', 'ended', { success: 2 }, 0],
    ['one failed', 'ended', { success: 2, error: 1 }, 1],
    ['one had errors', 'ended', { success: 2, 'with-errors': 1 }, 1],
    ['one is unchanged', 'ended', { success: 2, skipped: 1 }, 0],
    ['one was skipped', 'ended', { success: 2, skipped: 1 }, 3, 'Cancelled'],
    ['one failed and one was skipped', 'ended', { error: 1, skipped: 1 }, 1, 'DeadlineExceeded'],
    ['it stopped', 'stopped', { success: 2, waiting: 1 }, 3, 'ByteBudget'],
  ] as const)
    it(`${what}: ${code}`, () => assert.equal(exitOf({ state, reason, counts: { ...none, ...counts } }), code));
});

describe('batch: the progress of wait', () => {
  const now = Date.parse('2026-11-27T04:00:00Z');
  const counts = { waiting: 90, running: 4, success: 3, 'with-errors': 1, error: 2, skipped: 0 };
  const begun = { state: 'running', items: 100, counts, estimated_end_at: '2026-11-27T04:05:00Z' } as const;
  for (const [batch, line] of [
    [begun, 'running: 6 of 100 ended, 4 running, 3 failed, about 5.0 min left'],
    [{ ...begun, estimated_end_at: null }, 'running: 6 of 100 ended, 4 running, 3 failed'],
    [
      {
        state: 'paused',
        items: 2,
        counts: { ...counts, waiting: 2, running: 0, error: 0, 'with-errors': 0 },
        estimated_end_at: null,
      },
      'paused: 0 of 2 ended',
    ],
  ] as const)
    it(line, () => assert.equal(progressLine(batch, now), line));
});

describe('batch diff: a server that asks to try again later', function () {
  this.timeout(60_000);
  async function asked(pages: number, refusals: number): Promise<{ notes: string[]; done: boolean }> {
    const empty = {
      only_in_a: 0,
      only_in_b: 0,
      erased: 0,
      states: [],
      policy_outcomes: [],
      fields: [],
      not_compared: [],
    };
    const summary = { comparisons: 1, changed: 0, unchanged: 1, cut: 0, fields: 0, told: 0, known: 0 };
    let calls = 0;
    const server = createServer((_, outgoing) => {
      const page = Math.floor(calls / (refusals + 1));
      const isRefused = calls++ % (refusals + 1) < refusals;
      if (isRefused) outgoing.writeHead(429, { 'Retry-After': '1' }).end('{"error":"one comparison at a time"}');
      else outgoing.end(JSON.stringify({ ...empty, summary, pairs: pages, next: page + 1 < pages ? page : null }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const notes: string[] = [];
    const terminal = { note: (text: string) => void notes.push(text), progress() {}, data: async () => {} };
    const access = { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), token: 'x' };
    const api = makeApi({ access, terminal, signal: AbortSignal.timeout(30_000), patienceMs: 1_500 });
    const invocation = { terminal, format: 'json', api: async () => api } as unknown as Invocation;
    const done = await diffBatches(invocation, NO_BATCH, NO_BATCH).then(
      () => true,
      () => false,
    );
    server.close();
    return { notes, done };
  }

  it('waits before each page as long as it is asked to', async () => {
    const { notes, done } = await asked(3, 1);
    assert.deepEqual(
      [notes, done],
      [Array.from({ length: 3 }, () => 'one comparison at a time; next try in 1 s'), true],
    );
  });

  it('gives up on a page that is refused for too long', async () => {
    const { notes, done } = await asked(1, 2);
    assert.deepEqual([notes.length, done], [1, false]);
  });
});

describe('batch diff: an answer and the next one', () => {
  const field = (path: string, files: number): BatchDiff['fields'][number] => ({
    path,
    tool: 'ffprobe',
    level: 'canonical',
    change: 'value',
    files,
    examples: [],
  });
  const about = { name: null, state: 'ended', created_at: '2026-11-27T04:00:00Z', items: 9 } as const;
  const answer = (fields: ReturnType<typeof field>[], more: object) => ({
    a: { ...about, id: NO_BATCH },
    b: { ...about, id: NO_BATCH },
    pairs: 9,
    only_in_a: 0,
    only_in_b: 0,
    erased: 0,
    states: [],
    policy_outcomes: [],
    fields,
    not_compared: [{ why: 'expired' as const, count: 1 }],
    summary: { comparisons: 4, changed: 3, unchanged: 1, cut: 0, fields: fields.length, told: fields.length, known: 0 },
    next: null,
    ...more,
  });
  it('count the same fields together', () => {
    const {
      fields,
      summary,
      not_compared: not,
      next,
    } = joined(answer([field('x', 3), field('y', 2)], { next: 4 }), answer([field('y', 4), field('z', 1)], {}));
    assert.deepEqual(
      fields.map(({ path, files }) => [path, files]),
      [
        ['y', 6],
        ['x', 3],
        ['z', 1],
      ],
    );
    assert.deepEqual([summary.comparisons, summary.changed, summary.fields, next], [8, 6, 3, null]);
    assert.deepEqual(not, [{ why: 'expired', count: 2 }]);
  });
});

describe('probeyard batch', function () {
  this.timeout(180_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-batches-'));
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  let here: Installation;
  let film: string;
  let missing: string;
  let slow: string;
  /** Answers of the slow origin, which wait for it. */
  let open = Promise.withResolvers<undefined>();
  before(async function () {
    here = await startInstallation([{ tool: 'ffprobe', version: '9.0', latest: true }], this);
    const { url } = await here.origin(fixtures);
    film = `${url}/tiny.mp4`;
    missing = `${url}/nothing.mp4`;
    const held = await here.origin(async (_request, response) => {
      await open.promise;
      response.writeHead(404).end();
    });
    slow = `${held.url}/slow.mp4`;
  });
  after(async () => {
    open.resolve(undefined);
    await here?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function batch(code: number, args: readonly string[], options: RunOptions = {}): Promise<string> {
    const done = await here.probeyard(['batch', ...args], options);
    assert.equal(done.code, code, done.stderr + done.stdout.toString());
    return done.stdout.toString();
  }
  async function refused(code: number, args: readonly string[], options: RunOptions = {}): Promise<string> {
    const done = await here.probeyard(['batch', ...args], options);
    assert.deepEqual([done.code, done.stdout.toString()], [code, ''], done.stderr);
    return done.stderr;
  }
  const ONLY = ['--only', 'ffprobe'];
  const created = async (input: string, ...more: string[]): Promise<string> => {
    const id = await batch(0, ['create', ...ONLY, ...more], { input });
    assert.match(id, UUID);
    return id.trim();
  };
  const read = async (id: string) => JSON.parse(await batch(0, ['status', id, '-o', 'json']));

  it('a list of addresses: created, waited for, shown, and its items listed', async () => {
    const id = await created(
      `${film}\n${film}?again=secret1\n`,
      '--name',
      'two films',
      '--set',
      'ffprobe.show_format=false',
      '--cache',
      '1h',
    );
    const table = await batch(0, ['wait', id]);
    assert.match(table, new RegExp(`^BATCH +${id}\n`));
    assert.match(
      table,
      /^name +two films\nstate +ended, Completed\nsources +2 of 2 ended\n +success +2\nrequests +2, /m,
    );
    const { state, counts, probe } = await read(id);
    assert.deepEqual(
      [state, counts.success, probe.ffprobe.show_format, probe.cache.max_age],
      ['ended', 2, false, 3_600],
    );
    assert.match(await batch(0, []), new RegExp(`^${id} +\\d+s +ended +2/2 +0 +two films$`, 'm'));
    const items = await batch(0, ['items', id]);
    assert.match(items, /^1 +success +1 +[0-9a-f-]{36} +http:\S+tiny\.mp4\?again=REDACTED$/m);
    const [, second] = JSON.parse(await batch(0, ['items', id, '-o', 'json']));
    const result = await here.probeyard(['result', second.request_id]);
    assert.equal(result.code, 0, result.stderr);
    assert.doesNotMatch(table + items, /secret1/);
  });

  it('CSV from a file, with names: what failed is told by code, as a table, CSV and NDJSON', async () => {
    const list = file('list.csv', `id;url;ref\n1;${film};asset-1\n2;${missing};"asset; 2"\n`);
    const id = (await batch(0, ['create', list, ...ONLY, '--tries', '1'])).trim();
    const done = await here.probeyard(['batch', 'wait', id]);
    assert.equal(done.code, 1, done.stderr);
    assert.match(done.stdout.toString(), /FAILED +CODE\n1 +http-404\n$/);
    assert.match(done.stdout.toString(), /^container +1 mp4\nvideo_codec +1 h264\n/m);
    const films = await batch(0, ['items', id, '--where', 'container=mp4', '--where', 'video_codec=h264']);
    assert.match(films, /^N .*\n0 +success .*\n$/);
    assert.doesNotMatch(await batch(0, ['items', id, '--where', 'container=avi']), /success|error/);
    assert.match(await batch(0, ['items', id, '--code', 'http-404']), /^1 +error +1 +http-404 .* asset; 2 +http/m);
    const rows = (await batch(0, ['items', id, '--state', 'error', '-o', 'csv'])).trimEnd().split('\n');
    assert.equal(rows.length, 2);
    assert.match(rows[0]!, /^n,url,ref,state,/);
    const lines = (await batch(0, ['items', id, '-o', 'ndjson'])).trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)).map(({ ref, state }) => [ref, state]),
      [
        ['asset-1', 'success'],
        ['asset; 2', 'error'],
      ],
    );
  });

  it('a list at an address is read by the service', async () => {
    const list = await here.origin((_request, response) => void response.end(`url;ref\n${film};x\n`));
    const id = (await batch(0, ['create', `${list.url}/list.csv`, ...ONLY])).trim();
    await batch(0, ['wait', id]);
    assert.match(await batch(0, ['items', id]), / x +http:\S+tiny\.mp4\n$/);
  });

  it('--from: what failed in an earlier batch, or all of it', async () => {
    const id = await created(`${film}\n${missing}\n${missing}?2\n`, '--tries', '1');
    await here.probeyard(['batch', 'wait', id]);
    const again = await here.probeyard(['batch', 'create', ...ONLY, '--tries', '1', '--from', id]);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, /: 1 source\n1 source left out: the address is not known any more\n$/);
    const items = await batch(0, ['items', again.stdout.toString().trim()]);
    assert.match(items, /nothing\.mp4\n$/);
    const all = await batch(0, ['create', ...ONLY, '--from', id, '--all', '-o', 'json']);
    assert.deepEqual([JSON.parse(all).items, JSON.parse(all).left_out], [2, 1]);
    const changed = (await batch(0, ['create', ...ONLY, '--tries', '1', '--from', id, '--changed'])).trim();
    await here.probeyard(['batch', 'wait', changed]);
    const states = JSON.parse(await batch(0, ['items', changed, '-o', 'json'])) as { state: string; reason: string }[];
    assert.deepEqual(
      states.map(({ state, reason }) => [state, reason]),
      [
        ['skipped', 'Unchanged'],
        ['error', 'OriginUnreachable'],
      ],
    );
    assert.match(await refused(2, ['create', 'x.txt', '--from', id]), /a list or --from, not both/);
    assert.match(await refused(2, ['create', '--changed']), /--changed: has an effect with --from alone/);
    assert.match(await refused(2, ['create', '--from', id, '--all', '--changed']), /--all and --changed: only one/);
    assert.match(await refused(2, ['create', '--all']), /--all: has an effect with --from alone/);
  });

  it('diff: what a batch says otherwise than one before it', async () => {
    const over = async (input: string): Promise<string> => {
      const id = await created(input, '--tries', '1');
      await here.probeyard(['batch', 'wait', id]);
      return id;
    };
    const lists = [
      `{"url": "${film}", "ref": "x"}`,
      `{"url": "${film}?2", "ref": "x"}`,
      `{"url": "${missing}", "ref": "x"}`,
    ];
    const [a, same, lost] = [await over(lists[0]!), await over(lists[1]!), await over(lists[2]!)];
    assert.equal(await batch(0, ['diff', a, same]), '1 source in both, 0 only in A, 0 only in B, 0 changed\n');
    const table = await batch(1, ['diff', a, lost]);
    assert.match(table, /^state +success +error +1 +http:\S+nothing\.mp4$/m);
    assert.match(table, /^1 source not compared: no-result$/m);
    const diff = JSON.parse(await batch(1, ['diff', a, lost, '-o', 'json']));
    assert.deepEqual([diff.a.id, diff.b.id, diff.states[0].count], [a, lost, 1]);
    assert.match(await refused(2, ['diff', a]), /batch diff: ID is missing/);
    assert.match(await refused(2, ['status', a, same]), /batch status: one argument more than it takes/);
  });

  it('paused, resumed and cancelled; wait says what is not known', async () => {
    open = Promise.withResolvers();
    const list = Array.from({ length: 5 }, (_, at) => JSON.stringify({ url: `${slow}?${at}`, ref: String(at) }));
    const back = ['--webhook-url', 'https://receiver.test/', '--webhook-format', 'cloudevents', '--webhook-items'];
    const id = await created(list.join('\n'), '--concurrency', '1', '--timeout', '60s', ...back);
    const { webhook_url: url, webhook_format: format, webhook_items: ofItems } = await read(id);
    assert.deepEqual([url, format, ofItems], ['https://receiver.test/', 'cloudevents', true]);
    await until('one runs', async () => (await read(id)).counts.running === 1);
    assert.match(await batch(0, ['pause', id]), /^state +paused$/m);
    assert.match(await batch(0, ['pause', id]), /^state +paused$/m, 'a second time it is the same');
    assert.match(await batch(0, ['resume', id, '--max-requests', '50', '--max-bytes', '2GB']), /^state +running$/m);
    const { max_requests: requests, max_bytes: bytes } = await read(id);
    assert.deepEqual([requests, bytes], [50, 2_000_000_000]);
    const waiting = here.start(['batch', 'wait', id]);
    const waited = ended(waiting);
    assert.match(await batch(0, ['cancel', id]), /^state +cancelling, Cancelled$/m);
    open.resolve(undefined);
    const { code, stdout } = await waited;
    assert.match(stdout.toString(), /^state +ended, Cancelled$/m);
    const { counts } = await read(id);
    assert.ok(counts.skipped >= 4, JSON.stringify(counts));
    assert.equal(code, counts.error > 0 ? 1 : 3);
    assert.match(await refused(1, ['resume', id]), /the batch is ended and cannot be resumed/);
  });

  it('stopped by its budget: wait ends with 3 and says how it goes on', async () => {
    const id = await created(`${film}\n${film}?2\n`, '--max-requests', '1', '--concurrency', '1');
    const { code, stdout, stderr } = await here.probeyard(['batch', 'wait', id]);
    assert.equal(code, 3, stderr);
    assert.match(stdout.toString(), /^state +stopped, RequestBudget$/m);
    assert.match(stderr, new RegExp(`batch resume ${id}`));
    await batch(0, ['resume', id, '--max-requests', '10']);
    await batch(0, ['wait', id, '-o', 'json']);
  });

  /** Between the command line and the API. `change`: what it answers in place of the batch, by the call. */
  async function between(change: (call: number, batch: object) => object | undefined) {
    let calls = 0;
    const { url } = await here.origin(async (request, response) => {
      calls += 1;
      const answer = await fetch(`${here.url}${request.url}`, { headers: { authorization: `Bearer ${here.token}` } });
      const shown = change(calls, (await answer.json()) as object);
      response.writeHead(shown ? 200 : 503, { 'content-type': 'application/json' });
      response.end(JSON.stringify(shown ?? { error: 'not available' }));
    });
    return { env: { PROBEYARD_URL: url }, calls: () => calls };
  }

  it('a service that is away for a while does not end the waiting, and one that never answered does', async () => {
    const id = await created(`${film}\n`);
    await batch(0, ['wait', id]);
    const away = await between((call, found) => {
      if (call === 2 || call === 3) return undefined;
      return call < 5 ? { ...found, state: 'running' } : found;
    });
    const done = await here.probeyard(['batch', 'wait', id], away);
    assert.equal(done.code, 0, done.stderr);
    assert.equal(done.stderr, 'not available; the batch is asked for again\n');
    assert.match(await refused(3, ['wait', id], await between(() => undefined)), /^probeyard: not available\n/);
  });

  it('Ctrl-C while it waits: the batch goes on', async () => {
    open = Promise.withResolvers();
    const id = await created(`${slow}?x\n`, '--timeout', '60s', '--tries', '1');
    const { env, calls } = await between((_call, found) => found);
    const waiting = here.start(['batch', 'wait', id], env);
    const waited = ended(waiting);
    await until('it asks', () => calls() > 0);
    waiting.kill('SIGINT');
    const { code, stderr } = await waited;
    assert.equal(code, 130, stderr);
    assert.match(stderr, new RegExp(`the batch goes on: probeyard batch wait ${id}`));
    open.resolve(undefined);
    await batch(1, ['wait', id]);
  });

  it('mistakes are told with their line, and no address', async () => {
    const bad = `# remark\n${film}\n\nhttps://u:hunter2@10.0.0.1/a.mp4\n`;
    const told = await refused(2, ['create', ...ONLY], { input: bad });
    assert.match(told, /line 4\.url: /);
    assert.doesNotMatch(told, /hunter2|10\.0\.0\.1/);
    for (const [args, input, text] of [
      [['create'], 'film.mp4\n', /line 1: is not an address/],
      [['create'], '', /the list has no sources/],
      [['create', join(folder, 'none.txt')], '', /none\.txt: there is no such file/],
      [['create', folder], '', /: is a folder/],
      [['create', '--policy', file('p.yaml', 'rules: []\n')], film, /--policy: a batch is judged by a saved policy/],
      [['create', '--policy', 'none-such'], film, /policy/],
      [['create', '--set', 'timeline.enabled=true'], film, /probe\.timeline/],
      [['create', '--set', 'ffprobe.sow_format=true'], film, /probe\.ffprobe\.sow_format.*show_format/],
      [['create', '--max-bytes', '2 GB'], film, /--max-bytes: must be a size/],
      [['create', '--per-host', '99'], film, /per_host/],
      [['create', '--tag-objects', ...ONLY], film, /line 1\.url: must be an s3:\/\/ address/],
      [
        ['items', NO_BATCH, '--where', 'colour=red'],
        '',
        /--where colour=red: must be FACET=VALUE with one of container, /,
      ],
      [['items', NO_BATCH, '--where', 'hdr='], '', /--where hdr=: must be FACET=VALUE/],
      [['items', NO_BATCH, '--where', 'hdr=PQ', '--where', 'hdr=HLG'], '', /--where hdr: given twice/],
      [['create', '--webhook-items'], film, /webhook_items: has an effect with webhook_url alone/],
      [['list', NO_BATCH], '', /takes no ID/],
      [['status'], '', /ID is missing/],
      [['wait', NO_BATCH, '-o', 'csv'], '', /batch wait: -o csv is for items/],
      [['items', NO_BATCH, '-o', 'csv', '--limit', '5'], '', /--limit: -o csv prints all/],
      [['start', NO_BATCH], '', /ACTION is one of list, create/],
    ] as const)
      assert.match(await refused(2, [...args], { input }), text);
    for (const action of ['status', 'items', 'wait', 'pause', 'resume', 'cancel'])
      assert.match(await refused(1, [action, NO_BATCH]), /not found/);
  });
});
