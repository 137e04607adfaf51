import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pidsOf } from '../faults/load.ts';
import { cluster, fixtures, jobOf, type Answer, type Cluster } from '../cluster/fixture.ts';
import { record } from './record.ts';

/** The timeout of a request whose origin goes on for ever, and of one that is judged at once, on a busy machine too. */
const TIMEOUT_MS = 5_000;
const JUDGED_MS = 20_000;
/** For the end, its report and a very busy machine. A request must not last as long as its origin goes on. */
const SPARE_MS = 20_000;
/** Of one agent during all of these tests. Its container may have 640. */
const MOST_MB = 320;

const clip = readFileSync(join(fixtures, 'tiny.mp4'));
const ftyp = clip.subarray(0, clip.readUInt32BE(0));
/** A movie whose data continues to the end of the file, so that its index could only follow it. */
const endlessMovie = Buffer.concat([ftyp, Buffer.from([0, 0, 0, 0]), Buffer.from('mdat')]);
const zeros = Buffer.alloc(64 * 1024);
/** Made before any request: each takes a second or more, which would count as the host's. */
let bombs: Record<'plain' | 'playlist', Buffer> | undefined;
function makeBombs(): void {
  bombs = {
    plain: gzipSync(Buffer.alloc(256 << 20)),
    playlist: gzipSync(Buffer.concat([Buffer.from('#EXTM3U\n'), Buffer.alloc(256 << 20, '#\n')])),
  };
}

/** Writes until the peer has disconnected, and waits while it does not read. */
function pour(into: ServerResponse | Socket, piece: Buffer | string, everyMs = 0): void {
  const more = (): void => {
    while (!into.destroyed && into.writable) {
      const room = into.write(piece);
      if (everyMs > 0) return void setTimeout(more, everyMs).unref();
      if (!room) return void into.once('drain', more);
    }
  };
  more();
}
/** None of a process that has ended since it was found. */
function peakMb(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
const raw = (request: IncomingMessage, text: string): Socket => {
  request.socket.on('error', () => {});
  request.socket.write(text);
  return request.socket;
};

/** How each tool ended: its error with the code behind it, or `ok`. */
type Ends<T> = Record<'ffprobe' | 'mediainfo', T>;
const both = (end: RegExp): Ends<RegExp> => ({ ffprobe: end, mediainfo: end });

const endOf = ({ error, code }: { error?: unknown; code?: unknown }): string =>
  error === undefined ? 'ok' : `${String(error)} (${String(code)})`;

const OK = /^ok$/;
/** `by`: which of the two took the time. */
const late = (tool: string, by = '(?:timeout|timeout-origin)'): string =>
  `${tool} did not finish within [\\d.]+ ms: it spent \\d+ ms of it waiting for the host \\(${by}\\)`;
const lateOrigin = (tool: string): RegExp => new RegExp(`^${late(tool, 'timeout-origin')}$`);
const UNEVEN = String.raw`the file was read too unevenly to be cached \(limit\)`;

const NOT_HTTP = both(/^the host does not answer with HTTP \(protocol\)$/);
const FRAMING = both(/^the host sends more framing than data \(protocol\)$/);
const LONG_HEAD = both(/^the head of the answer of the host is longer than 16 KB \(head\)$/);
const TOO_LARGE = both(/^the file is larger than 10000000000 bytes \(source-too-large\)$/);

interface Hostile {
  title: string;
  file?: string;
  serve(request: IncomingMessage, response: ServerResponse): void;
  status: number;
  ends: Ends<RegExp>;
  /** Its time is what ends it. */
  isLate?: true;
}

const ORIGINS: readonly Hostile[] = [
  {
    title: 'a file over the limit, declared',
    serve: (_, response) => void response.writeHead(200, { 'content-length': 11e9 }).write(ftyp),
    status: 400,
    ends: TOO_LARGE,
  },
  {
    title: 'a file over the limit, declared by a range',
    serve: (_, response) =>
      void response
        .writeHead(206, { 'content-length': 11e9, 'content-range': `bytes 0-${11e9 - 1}/${11e9}` })
        .write(ftyp),
    status: 400,
    ends: TOO_LARGE,
  },
  {
    title: 'a movie without an end',
    isLate: true,
    serve: (_, response) => {
      response.writeHead(200, { 'content-type': 'video/mp4' }).write(endlessMovie);
      pour(response, zeros);
    },
    status: 200,
    ends: { ffprobe: new RegExp(`^${late('ffprobe')}$`), mediainfo: new RegExp(`^(?:ok|${late('mediainfo')})$`) },
  },
  {
    title: 'zeros without an end',
    isLate: true,
    serve: (_, response) => {
      response.writeHead(200);
      pour(response, zeros);
    },
    status: 200,
    ends: {
      ffprobe: new RegExp(`^(?:${late('ffprobe')}|${UNEVEN})$`),
      mediainfo: new RegExp(`^(?:${late('mediainfo')}|${UNEVEN}|mediainfo recognises no media in the source .*)$`),
    },
  },
  {
    title: 'a byte each half second',
    isLate: true,
    serve: (_, response) => {
      response.writeHead(200, { 'content-length': 1_000_000 });
      pour(response, 'x', 500);
    },
    status: 200,
    ends: { ffprobe: lateOrigin('ffprobe'), mediainfo: lateOrigin('mediainfo') },
  },
  {
    title: 'a header byte each half second',
    isLate: true,
    serve: (request) => {
      const socket = raw(request, 'HTTP/1.1 200 OK\r\nx: ');
      pour(socket, 'x', 500);
    },
    status: 200,
    ends: { ffprobe: lateOrigin('ffprobe'), mediainfo: lateOrigin('mediainfo') },
  },
  {
    title: 'fewer bytes than announced',
    // Of the clip itself, MediaInfo tells what stands in these bytes, if it reads them before the host hangs up.
    serve: (request) =>
      void raw(request, `HTTP/1.1 200 OK\r\nContent-Length: ${clip.length}\r\n\r\n`).end(zeros.subarray(0, 1000)),
    status: 200,
    ends: both(/^the host closed the connection after 1\.0 kB of 25\.9 kB \(closed\)$/),
  },
  {
    title: 'more bytes than announced',
    serve: (request) => {
      const socket = raw(request, 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n');
      socket.write(clip.subarray(0, 100));
      pour(socket, zeros);
    },
    status: 200,
    ends: both(OK),
  },
  {
    title: 'two lengths',
    serve: (request) =>
      void raw(request, `HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Length: 20\r\n\r\n`).end(clip),
    status: 404,
    ends: NOT_HTTP,
  },
  {
    title: 'a negative length',
    serve: (request) => void raw(request, 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n').end(clip),
    status: 404,
    ends: NOT_HTTP,
  },
  {
    title: 'a gzip bomb',
    serve: (_, response) => {
      const { plain } = bombs!;
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': plain.length }).end(plain);
    },
    status: 200,
    ends: {
      ffprobe: /^the source is not media: it is gzip data, [\d.]+ kB \(not-media\)$/,
      mediainfo: /^ok$|; the source is gzip data, [\d.]+ kB \(failed\)$/,
    },
  },
  {
    title: 'a gzip bomb for a playlist',
    file: 'a.m3u8',
    serve: (_, response) => {
      const { playlist } = bombs!;
      response
        .writeHead(200, {
          'content-type': 'application/vnd.apple.mpegurl',
          'content-encoding': 'gzip',
          'content-length': playlist.length,
        })
        .end(playlist);
    },
    status: 200,
    ends: both(/^the playlist cannot be decompressed \(protocol\)$/),
  },
  {
    title: 'a playlist without an end',
    file: 'a.m3u8',
    serve: (_, response) => {
      response
        .writeHead(200, { 'content-type': 'application/vnd.apple.mpegurl' })
        .write('#EXTM3U\n#EXT-X-TARGETDURATION:6\n');
      pour(response, '#EXTINF:6,\ns.ts\n'.repeat(4096));
    },
    status: 200,
    ends: both(/^the playlist is too long \(limit\)$/),
  },
  {
    title: 'a truncated movie',
    serve: (_, response) => void response.writeHead(200, { 'content-length': 9000 }).end(clip.subarray(0, 9000)),
    status: 200,
    ends: both(OK),
  },
  {
    title: 'a movie without its index',
    serve: (_, response) => void response.writeHead(200, { 'content-length': ftyp.length }).end(ftyp),
    status: 200,
    ends: { ffprobe: /^Invalid data found when processing input \(exit code \d+\) \(failed\)$/, mediainfo: OK },
  },
  {
    title: 'headers of megabytes',
    serve: (request) => {
      const socket = raw(request, 'HTTP/1.1 200 OK\r\n');
      pour(socket, `x-${'a'.repeat(1000)}: ${'b'.repeat(60_000)}\r\n`);
    },
    status: 404,
    ends: LONG_HEAD,
  },
  {
    title: 'headers without an end',
    serve: (request) => {
      const socket = raw(request, 'HTTP/1.1 200 OK\r\n');
      pour(socket, 'a: b\r\n'.repeat(4096));
    },
    status: 404,
    ends: LONG_HEAD,
  },
  {
    title: 'redirects without an end',
    serve: (request, response) =>
      void response
        .writeHead(302, { location: `/${(Number((request.url ?? '').slice(1).split('/')[0]) || 0) + 1}/a.mp4` })
        .end(),
    status: 404,
    ends: both(/^the host redirects more than 10 times \(redirects\)$/),
  },
  {
    title: 'interim answers without an end',
    serve: (request) => {
      const socket = raw(request, '');
      pour(socket, 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1024));
    },
    // The request is abandoned after some of them, long before the timeout of the tool, which gets a 502 from the
    // source proxy.
    status: 404,
    ends: both(/^the host sends endless interim responses \(protocol\)$/),
  },
  {
    title: 'a trailer without an end',
    serve: (request) => {
      const socket = raw(request, `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n`);
      pour(socket, `x: ${'y'.repeat(100)}\r\n`.repeat(512));
    },
    status: 404,
    ends: FRAMING,
  },
  {
    title: 'a chunk extension without an end',
    serve: (request) => {
      const socket = raw(request, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=');
      pour(socket, 'y'.repeat(64 * 1024));
    },
    status: 404,
    ends: FRAMING,
  },
  {
    title: 'a chunk of all there is',
    serve: (request) => {
      const socket = raw(request, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n');
      pour(socket, zeros);
    },
    status: 404,
    ends: NOT_HTTP,
  },
];

describe('hostile origins', function () {
  this.timeout(150_000);
  let c: Cluster;
  const answers = new Map<string, Answer & { ends: Ends<string> }>();
  const peaks = new Map<string, number>();

  /** By the log, which has them of an answer without an envelope, too. */
  const endsOf = async (id: string, token: string): Promise<Ends<string>> => {
    const { json } = await c.get(`/frontend/api/v1/media/log/${id}`, token);
    const [errors, codes] = [json['tool-errors'], json['tool-error-codes']] as Partial<Record<string, string>>[];
    const of = (tool: string): string => endOf({ error: errors?.[tool], code: codes?.[tool] });
    return { ffprobe: of('ffprobe'), mediainfo: of('mediainfo') };
  };

  const ask = async (token: string, { title, file = 'a.mp4', serve, isLate }: Hostile): Promise<void> => {
    const origin = await c.origin(serve);
    const answer = await c.probe(
      {
        url: `${origin.url}/${file}`,
        timeout: isLate ? TIMEOUT_MS : JUDGED_MS,
        probe_report: { enabled: false },
      },
      { token },
    );
    const id = answer.json.metadata?.request_id ?? answer.headers.get('x-request-id') ?? '';
    const { runner, queueTimeMs = 0 } = (await jobOf(c.kube, id)).status ?? {};
    const pod = runner?.pod;
    // Without the time spent waiting for a runner.
    answers.set(title, { ...answer, ms: answer.ms - queueTimeMs, ends: await endsOf(id, token) });
    for (const pid of pod === undefined ? [] : pidsOf('PY_POD_NAME', pod))
      peaks.set(pod!, Math.max(peakMb(pid), peaks.get(pod!) ?? 0));
  };

  before(async () => {
    makeBombs();
    c = await cluster();
    // Few at once, so that each runner meets several of them.
    const { token } = await c.newToken(4);
    const rest = [...ORIGINS];
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let next = rest.shift(); next; next = rest.shift()) await ask(token, next);
      }),
    );
  });
  after(() => c?.close());

  for (const { title, status, ends } of ORIGINS) {
    it(`${title}: ends in time with its cause`, () => {
      const answer = answers.get(title) ?? assert.fail('no answer');
      const { ffprobe, mediainfo } = answer.ends;
      const words = ffprobe === mediainfo ? ffprobe : `ffprobe: ${ffprobe}; mediainfo: ${mediainfo}`;
      record({
        group: 'origins',
        attempt: title,
        expected: `${status} within ${(TIMEOUT_MS + SPARE_MS) / 1000} s`,
        got: `${answer.status} after ${(answer.ms / 1000).toFixed(1)} s: ${words.slice(0, 160)}`,
      });
      assert.equal(answer.status, status, answer.text.slice(0, 300));
      assert.match(ffprobe, ends.ffprobe);
      assert.match(mediainfo, ends.mediainfo);
      // The answer says what its first tool says.
      const { success, error, code } = answer.json;
      if (success !== true) assert.equal(endOf({ error, code }), ffprobe);
      assert.ok(answer.ms < TIMEOUT_MS + SPARE_MS, `${answer.ms} ms`);
    });
  }

  it(`no agent used more than ${MOST_MB} MB in all of this`, function () {
    if (peaks.size === 0) {
      console.log('      skipped: the runners are not on this machine');
      this.skip();
    }
    const most = Math.max(...peaks.values());
    console.log(`      highest of ${peaks.size} agents: ${Math.round(most)} MB resident`);
    record({
      group: 'origins',
      attempt: 'memory of the agent through all of it',
      expected: `under ${MOST_MB} MB`,
      got: `${Math.round(most)} MB at most, of ${peaks.size} agents`,
    });
    assert.ok(most < MOST_MB, `${most} MB`);
  });

  it('the runners continue to work', async () => {
    const { token } = await c.newToken(4);
    const { status, json } = await c.probe({ url: `${(await c.origin(fixtures)).url}/tiny.mp4` }, { token });
    assert.equal(status, 200);
    assert.equal(json.success, true);
  });
});
