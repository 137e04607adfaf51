/** Two sources in one job: one after the other, with real origins. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { SUBJECT, type AssignedTool, type Assignment, type Cancel } from '../../src/platform/bus/messages.ts';
import { comparisonOf, runOf } from '../../src/service/result/answer.ts';
import { runInTurn } from '../../src/service/runner/compare.ts';
import type { RawToolResult } from '../../src/service/runner/output.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Source } from '../../src/source/source.ts';
import { freePort } from '../free_port.ts';
import { until } from '../until.ts';
import { Rig } from './agent_rig.ts';

const FILE = Buffer.alloc(300_000, 'a');
const MB = 1024 * 1024;

/** A file that can be read in ranges. */
const file =
  (bytes: Buffer): RequestListener =>
  (request, response) => {
    const range = /^bytes=(\d+)-(\d+)?$/.exec(request.headers.range ?? '');
    const from = Number(range?.[1] ?? 0);
    const part = bytes.subarray(from, range?.[2] === undefined ? bytes.length : Number(range[2]) + 1);
    response.writeHead(range ? 206 : 200, {
      'Content-Length': part.length,
      'Content-Type': 'video/mp4',
      ETag: '"1"',
      'Accept-Ranges': 'bytes',
      ...(range ? { 'Content-Range': `bytes ${from}-${from + part.length - 1}/${bytes.length}` } : {}),
    });
    response.end(part);
  };
/** A body without an end. */
const endless: RequestListener = (_request, response) => {
  response.writeHead(200, { 'Content-Type': 'video/mp4' });
  const chunk = Buffer.alloc(64 * 1024, 'x');
  const send = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', send);
  send();
};
const missing: RequestListener = (_request, response) => response.writeHead(404).end();
const silent: RequestListener = () => {};

describe('comparison of two sources in an agent', function () {
  this.timeout(90_000);
  const rig = new Rig();
  let second: Server;
  let secondUrl = '';
  let serve: RequestListener;
  let asked: { at: 'a' | 'b'; request: IncomingMessage }[];

  before(async () => {
    await rig.start();
    await rig.newAgent();
    second = createServer((request, response) => {
      asked.push({ at: 'b', request });
      serve(request, response);
    }).listen(0, '127.0.0.1');
    await once(second, 'listening');
    secondUrl = `http://127.0.0.1:${(second.address() as { port: number }).port}`;
  });
  after(async () => {
    second.close();
    second.closeAllConnections();
    await rig.stop();
  });

  const origins = (a: RequestListener, b: RequestListener): void => {
    asked = [];
    rig.serve = (request, response) => {
      asked.push({ at: 'a', request });
      a(request, response);
    };
    serve = b;
  };
  const SIZE =
    'set -o pipefail; size=$(curl -sf "$address" | wc -c) || exit 1; ' +
    'echo "{\\"size\\":$size,\\"filename\\":\\"$address\\"}"';
  const order = (
    tools: AssignedTool[],
    {
      a = `${rig.originUrl}/one/a.mp4`,
      b = `${secondUrl}/two/b.mp4`,
      remainingMs = 20_000,
      ...assignment
    }: { a?: string; b?: string | Source; remainingMs?: number } & Partial<Assignment> = {},
  ) =>
    rig.go(tools, {
      source: a,
      remainingMs,
      assignment: { kind: 'compare', other: typeof b === 'string' ? parseSource(b) : b, ...assignment },
    });
  const both = () => [rig.script(SIZE), rig.script(SIZE, { name: 'mediainfo', version: '26.10' })];
  const outcomes = (tools: readonly { side?: string; name: string; success: boolean; failure?: string }[]) =>
    tools.map(({ side, name, success, failure }) => `${side} ${name} ${success ? 'ok' : failure}`);

  it('tells the cause of each source that fails, with its code', async () => {
    origins(missing, (request) => void request.socket.destroy());
    const { body } = await rig.run(order(both()));
    assert.deepEqual(
      body.tools.map((tool) => {
        const { error, code } = runOf({ ...tool, output: null });
        return [tool.side, error, code];
      }),
      [
        ...both().map(() => ['a', 'the host answered 404', 'http-404']),
        ...both().map(() => ['b', 'the host closed the connection without an answer', 'closed']),
      ],
    );
  });

  it('runs every tool on the first, then on the second, and tells what differs', async () => {
    origins(file(FILE), file(FILE.subarray(1)));
    const { body } = await rig.run(order(both()));
    assert.deepEqual(outcomes(body.tools), ['a ffprobe ok', 'a mediainfo ok', 'b ffprobe ok', 'b mediainfo ok']);
    const inTurn = asked.map(({ at }) => at).join('');
    assert.match(inTurn, /^a+b+$/);
    assert.deepEqual(
      comparisonOf(body).fields.map(({ tool, path, values }) => [tool, path, values]),
      ['ffprobe', 'mediainfo'].flatMap((tool) => [
        [tool, 'size', { a: FILE.length, b: FILE.length - 1 }],
        [tool, 'filename', { a: `${rig.originUrl}/one/a.mp4`, b: `${secondUrl}/two/b.mp4` }],
      ]),
    );
    const total = 2 * FILE.length - 1;
    assert.ok(body.ioUsage >= total && body.ioUsage < total * 1.1, `io_usage ${body.ioUsage} of ${total}`);
    const uses = Object.values(body.origin ?? {});
    assert.equal(
      uses.reduce((sum, { bytes }) => sum + bytes, 0),
      body.ioUsage,
    );
    const text = JSON.stringify(body);
    assert.ok(!text.includes(`127.0.0.1:${rig.proxy.port}`), text);
  });

  it('finds no difference in the same file twice', async () => {
    origins(file(FILE), missing);
    const one = `${rig.originUrl}/one/a.mp4`;
    const { body } = await rig.run(order(both(), { b: one }));
    const { fields, summary } = comparisonOf(body);
    assert.deepEqual([outcomes(body.tools).length, fields, summary.fields], [4, [], 0]);
    assert.equal(asked.filter(({ at }) => at === 'b').length, 0);
  });

  it('keeps the runs of one source when the other is missing or gone', async () => {
    const closed = `http://127.0.0.1:${await freePort()}/x.mp4`;
    for (const [what, listeners, address, expected] of [
      ['b is missing', [file(FILE), missing], {}, ['a ffprobe ok', 'b ffprobe origin-unreachable']],
      ['b is gone', [file(FILE), missing], { b: closed }, ['a ffprobe ok', 'b ffprobe origin-unreachable']],
      ['a is missing', [missing, file(FILE)], {}, ['a ffprobe origin-unreachable', 'b ffprobe ok']],
      ['a is gone', [missing, file(FILE)], { a: closed }, ['a ffprobe origin-unreachable', 'b ffprobe ok']],
    ] as const) {
      origins(...(listeners as unknown as [RequestListener, RequestListener]));
      const tools = [rig.script(SIZE)];
      const { body } = await rig.run(order(tools, address));
      assert.deepEqual(outcomes(body.tools), expected, what);
      assert.equal(body.source, undefined, what);
    }
  });

  it('names both sources where both fail in the same way', async () => {
    origins(missing, missing);
    const { body } = await rig.run(order([rig.script(SIZE)]));
    assert.equal(body.source?.failure, 'origin-unreachable');
    assert.match(body.source.message, /^a: .*404.*; b: .*404/);
  });

  it('refuses a redirect of the second source into the network, and keeps the first', async () => {
    origins(file(FILE), (_request, response) => response.writeHead(302, { Location: 'http://169.254.169.254/' }).end());
    const { body } = await rig.run(order([rig.script(SIZE)]));
    assert.deepEqual(outcomes(body.tools), ['a ffprobe ok', 'b ffprobe source-forbidden']);
  });

  it('reports an address that cannot be opened as the failure of its source', async () => {
    origins(file(FILE), missing);
    const b: Source = { scheme: 'gopher', url: 'gopher://two.test/', class: 'file' };
    const { body } = await rig.run(order([rig.script(SIZE)], { b }));
    assert.deepEqual(outcomes(body.tools), ['a ffprobe ok', 'b ffprobe source-forbidden']);
  });

  it('never sends the credentials of one to the other, not even after a redirect between them', async () => {
    const a = rig.originUrl.replace('http://', 'http://alice-of-one:password-of-a@');
    const b = secondUrl.replace('http://', 'http://bob-of-two:password-of-b@');
    // The first leads to the second's origin, which asks for credentials there.
    origins((_request, response) => response.writeHead(302, { Location: `${secondUrl}/from-a.mp4` }).end(), file(FILE));
    const { body } = await rig.run(order(both(), { a: `${a}/one/a.mp4`, b: `${b}/two/b.mp4?token=query-secret-of-b` }));
    assert.ok(
      body.tools.every(({ success }) => success),
      JSON.stringify(outcomes(body.tools)),
    );
    const basic = (login: string) => `Basic ${Buffer.from(login).toString('base64')}`;
    const sent = (path: string) => [
      ...new Set(
        asked
          .filter(({ request }) => request.url!.startsWith(path))
          .map(({ at, request }) => `${at} ${request.headers.authorization}`),
      ),
    ];
    assert.deepEqual(sent('/one'), [`a ${basic('alice-of-one:password-of-a')}`]);
    assert.deepEqual(sent('/from-a'), ['b undefined']);
    assert.deepEqual(sent('/two'), [`b ${basic('bob-of-two:password-of-b')}`]);
    const text = JSON.stringify(body);
    for (const secret of ['password-of-a', 'password-of-b', 'query-secret-of-b']) assert.ok(!text.includes(secret));
  });

  it('removes the secrets of one from what a tool says of the other', async () => {
    origins(file(FILE), file(FILE));
    const says = rig.script(`echo '{"said":"password-of-a query-secret-of-b"}'`);
    const { body } = await rig.run(
      order([says], {
        a: rig.originUrl.replace('http://', 'http://x:password-of-a@'),
        b: `${secondUrl}/b?token=query-secret-of-b`,
      }),
    );
    for (const { output } of body.tools) assert.equal(output!.trim(), '{"said":"REDACTED REDACTED"}');
  });

  it('gives a slow first source half of the time, and the second what is left', async () => {
    origins(silent, file(FILE));
    const begun = performance.now();
    const { body } = await rig.run(order([rig.script(SIZE)], { remainingMs: 6_000 }));
    assert.deepEqual(outcomes(body.tools), ['a ffprobe timeout', 'b ffprobe ok']);
    assert.ok(performance.now() - begun < 25_000);
    origins(file(FILE), silent);
    const other = await rig.run(order([rig.script(SIZE)], { remainingMs: 3_000 }));
    assert.deepEqual(outcomes(other.body.tools), ['a ffprobe ok', 'b ffprobe timeout']);
  });

  it('counts the bytes of both together: two endless sources end at the size limit', async () => {
    origins(endless, endless);
    const maxBytes = 8 * MB;
    const { body } = await rig.run(order([rig.script(SIZE)], { maxBytes }));
    assert.deepEqual(outcomes(body.tools), ['a ffprobe source-cut', 'b ffprobe source-cut']);
    assert.ok(body.ioUsage < maxBytes + 2 * MB, `${body.ioUsage} bytes`);
  });

  it('ends both endless sources at the deadline', async () => {
    origins(endless, endless);
    const tools = [rig.script(`curl -sf --limit-rate 100k "$address" > /dev/null`)];
    const { body } = await rig.run(order(tools, { remainingMs: 2_000 }));
    assert.deepEqual(outcomes(body.tools), ['a ffprobe timeout', 'b ffprobe timeout']);
  });

  it('a first run that prints too much leaves the second its output', async () => {
    await rig.newAgent({ outputBytes: 1 * MB });
    origins(file(FILE), file(FILE));
    const tools = [
      rig.script(`case "$address" in *a.mp4) head -c 3000000 /dev/zero;; *) echo '{"ok":true}';; esac`),
      rig.script(`printf '{"filler":"'; head -c 900000 /dev/zero | tr '\\0' x; printf '"}'`, {
        name: 'mediainfo',
        version: '26.10',
      }),
    ];
    const { body } = await rig.run(order(tools));
    assert.deepEqual(outcomes(body.tools), [
      'a ffprobe output-too-large',
      'a mediainfo ok',
      'b ffprobe ok',
      'b mediainfo ok',
    ]);
  });

  it('ends what the first source left running, and empties its directories, before the second begins', async () => {
    const pid = join(rig.directory, 'pid-of-a');
    origins(file(FILE), file(FILE));
    const tools = [
      rig.script(
        `of_a=${rig.launcherProcess.tmp}/of_a; [ -e $of_a ] && file=1 || file=0
        n=0; [ -d /proc/$(cat ${pid} 2>/dev/null || echo none) ] && n=1
        setsid sleep 987 > /dev/null 2>&1 & echo $! > ${pid}; touch $of_a
        echo "{\\"left\\":$n,\\"file\\":$file}"`,
      ),
    ];
    const { body } = await rig.run(order(tools));
    assert.deepEqual(
      body.tools.map(({ side, output }) => [side, JSON.parse(output!)]),
      ['a', 'b'].map((side) => [side, { left: 0, file: 0 }]),
    );
  });

  it('opens nothing of the second source once the job is dropped', async () => {
    origins(silent, file(FILE));
    const go = order([rig.script(SIZE)]);
    await rig.say(SUBJECT.go, go);
    await until('the first source is read', () => asked.length > 0);
    await rig.say(SUBJECT.cancel, { epoch: 1, job: go.job, attempt: 1, why: 'cancelled' } satisfies Cancel);
    await rig.phase('idle');
    origins(file(FILE), file(FILE));
    await rig.run(rig.go([rig.script('echo "{}"')]));
    assert.deepEqual(asked, []);
  });
});

describe('running in turn', () => {
  const result = { name: 'ffprobe', version: '7.1', output: null } as RawToolResult;
  const source = (): { source: Parameters<typeof runInTurn>[0]; said: string[] } => {
    const said: string[] = [];
    const one = {
      hasNext: true,
      next: () => void said.push('next'),
      close: () => void said.push('close'),
      prepare: () => Promise.resolve(),
    };
    return { said, source: one };
  };

  it('fails the job when a process of the first source survives', async () => {
    const { source: one, said } = source();
    const { signal } = new AbortController();
    const run = () => Promise.resolve([result]);
    await assert.rejects(
      runInTurn(one, { remainingMs: 1000, signal, killAll: () => Promise.resolve(false), run }),
      /could not be cleaned/,
    );
    assert.deepEqual(said, ['close']);
  });

  it('does not go on when the job is dropped during the clean-up', async () => {
    const { source: one, said } = source();
    const dropped = new AbortController();
    const killAll = () => {
      dropped.abort();
      return Promise.resolve(false);
    };
    const results = await runInTurn(one, {
      remainingMs: 1000,
      signal: dropped.signal,
      killAll,
      run: () => Promise.resolve([result]),
    });
    assert.deepEqual([results.map(({ side }) => side), said], [['a'], ['close']]);
  });
});
