import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pidsOf } from '../faults/load.ts';
import { cluster, fixtures, jobOf, type Answer, type Cluster } from '../cluster/fixture.ts';
import { record } from './record.ts';

/** The timeout of a request in these tests. */
const TIMEOUT_MS = 5_000;
/** For the end, its report and a very busy machine. A request must not last as long as its origin goes on. */
const SPARE_MS = 20_000;
/** Of one agent during all of these tests. Its container may have 640. */
const MOST_MB = 320;

const clip = readFileSync(join(fixtures, 'tiny.mp4'));
const ftyp = clip.subarray(0, clip.readUInt32BE(0));
/** A movie whose data continues to the end of the file, so that its index could only follow it. */
const endlessMovie = Buffer.concat([ftyp, Buffer.from([0, 0, 0, 0]), Buffer.from('mdat')]);
const zeros = Buffer.alloc(64 * 1024);

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
const raw = (request: IncomingMessage, text: string): Socket => {
  request.socket.on('error', () => {});
  request.socket.write(text);
  return request.socket;
};

const WORDS =
  /^(?:\["|)(?:\w+ did not finish within [\d.]+ ms|Invalid data found|End of file|[Tt]he (?:host|head of the answer|playlist|file) |the source is not media|mediainfo found nothing|ok)/;
const LATE = /ffprobe did not finish within [\d.]+ ms/;

interface Hostile {
  title: string;
  file?: string;
  serve(request: IncomingMessage, response: ServerResponse): void;
  status: readonly number[];
  error: RegExp;
  more?: object;
}

const ORIGINS: readonly Hostile[] = [
  {
    title: 'a file over the limit, declared',
    serve: (_, response) => void response.writeHead(200, { 'content-length': 11e9 }).write(ftyp),
    status: [400],
    error: /^the file is larger than 10000000000 bytes$/,
  },
  {
    title: 'a file over the limit, declared by a range',
    serve: (_, response) =>
      void response
        .writeHead(206, { 'content-length': 11e9, 'content-range': `bytes 0-${11e9 - 1}/${11e9}` })
        .write(ftyp),
    status: [400],
    error: /^the file is larger than 10000000000 bytes$/,
  },
  {
    title: 'a movie without an end',
    serve: (_, response) => {
      response.writeHead(200, { 'content-type': 'video/mp4' }).write(endlessMovie);
      pour(response, zeros);
    },
    status: [200],
    error: LATE,
  },
  {
    title: 'zeros without an end',
    serve: (_, response) => {
      response.writeHead(200);
      pour(response, zeros);
    },
    status: [200],
    error: /the file was read too unevenly to be cached|the source is not media|did not finish within/,
  },
  {
    title: 'a byte each half second',
    serve: (_, response) => {
      response.writeHead(200, { 'content-length': 1_000_000 });
      pour(response, 'x', 500);
    },
    status: [200, 404],
    error: LATE,
  },
  {
    title: 'a header byte each half second',
    serve: (request) => {
      const socket = raw(request, 'HTTP/1.1 200 OK\r\nx: ');
      pour(socket, 'x', 500);
    },
    status: [200, 404],
    error: LATE,
  },
  {
    title: 'fewer bytes than announced',
    serve: (request) =>
      void raw(request, `HTTP/1.1 200 OK\r\nContent-Length: ${clip.length}\r\n\r\n`).end(clip.subarray(0, 1000)),
    status: [200, 404],
    error: WORDS,
  },
  {
    title: 'more bytes than announced',
    serve: (request) => {
      const socket = raw(request, 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n');
      socket.write(clip.subarray(0, 100));
      pour(socket, zeros);
    },
    status: [200, 404],
    error: WORDS,
  },
  {
    title: 'two lengths',
    serve: (request) =>
      void raw(request, `HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Length: 20\r\n\r\n`).end(clip),
    status: [404, 200],
    error: WORDS,
  },
  {
    title: 'a negative length',
    serve: (request) => void raw(request, 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n').end(clip),
    status: [404, 200],
    error: WORDS,
  },
  {
    title: 'a gzip bomb',
    serve: (_, response) => {
      const bomb = gzipSync(Buffer.alloc(256 << 20));
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bomb.length }).end(bomb);
    },
    status: [200, 404],
    error: WORDS,
  },
  {
    title: 'a gzip bomb for a playlist',
    file: 'a.m3u8',
    serve: (_, response) => {
      const bomb = gzipSync(Buffer.concat([Buffer.from('#EXTM3U\n'), Buffer.alloc(256 << 20, '#\n')]));
      response
        .writeHead(200, {
          'content-type': 'application/vnd.apple.mpegurl',
          'content-encoding': 'gzip',
          'content-length': bomb.length,
        })
        .end(bomb);
    },
    status: [200, 404],
    error: /the playlist (?:cannot be decompressed|is too long)/,
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
    status: [200, 404],
    error: /the playlist is too long|did not finish within/,
  },
  {
    title: 'a truncated movie',
    serve: (_, response) => void response.writeHead(200, { 'content-length': 9000 }).end(clip.subarray(0, 9000)),
    status: [200],
    error: WORDS,
  },
  {
    title: 'a movie without its index',
    serve: (_, response) => void response.writeHead(200, { 'content-length': ftyp.length }).end(ftyp),
    status: [200],
    error: WORDS,
  },
  {
    title: 'headers of megabytes',
    serve: (request) => {
      const socket = raw(request, 'HTTP/1.1 200 OK\r\n');
      pour(socket, `x-${'a'.repeat(1000)}: ${'b'.repeat(60_000)}\r\n`);
    },
    status: [404, 200],
    error: /the head of the answer of the host is longer than 16 KB/,
  },
  {
    title: 'headers without an end',
    serve: (request) => {
      const socket = raw(request, 'HTTP/1.1 200 OK\r\n');
      pour(socket, 'a: b\r\n'.repeat(4096));
    },
    status: [404, 200],
    error: /the head of the answer of the host is longer than 16 KB/,
  },
  {
    title: 'redirects without an end',
    serve: (request, response) =>
      void response
        .writeHead(302, { location: `/${(Number((request.url ?? '').slice(1).split('/')[0]) || 0) + 1}/a.mp4` })
        .end(),
    status: [404, 200],
    error: /the host redirects more than 10 times/,
  },
  {
    title: 'interim answers without an end',
    serve: (request) => {
      const socket = raw(request, '');
      pour(socket, 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1024));
    },
    // The request is abandoned after some of them, long before the timeout of the tool, which gets a 502 from the
    // source proxy.
    status: [404],
    error: /^the host sends endless interim responses/,
  },
  {
    title: 'a trailer without an end',
    serve: (request) => {
      const socket = raw(request, `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n`);
      pour(socket, `x: ${'y'.repeat(100)}\r\n`.repeat(512));
    },
    status: [200, 404],
    error: WORDS,
  },
  {
    title: 'a chunk extension without an end',
    serve: (request) => {
      const socket = raw(request, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=');
      pour(socket, 'y'.repeat(64 * 1024));
    },
    status: [200, 404],
    error: WORDS,
  },
  {
    title: 'a chunk of all there is',
    serve: (request) => {
      const socket = raw(request, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n');
      pour(socket, zeros);
    },
    status: [200, 404],
    error: WORDS,
  },
];

describe('hostile origins', function () {
  this.timeout(150_000);
  let c: Cluster;
  const answers = new Map<string, Answer>();
  const peaks = new Map<string, number>();

  const ask = async (token: string, { title, file = 'a.mp4', serve, more = {} }: Hostile): Promise<void> => {
    const origin = await c.origin(serve);
    const answer = await c.probe(
      { url: `${origin.url}/${file}`, timeout: TIMEOUT_MS, probe_report: { enabled: false }, ...more },
      { token },
    );
    const id = answer.json.metadata?.request_id ?? answer.headers.get('x-request-id') ?? '';
    const { runner, queueTimeMs = 0 } = (await jobOf(c.kube, id)).status ?? {};
    const pod = runner?.pod;
    // Without the time spent waiting for a runner.
    answers.set(title, { ...answer, ms: answer.ms - queueTimeMs });
    for (const pid of pod === undefined ? [] : pidsOf('PY_POD_NAME', pod)) {
      const peak = Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
      peaks.set(pod!, Math.max(peak, peaks.get(pod!) ?? 0));
    }
  };

  before(async () => {
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

  for (const { title, status, error } of ORIGINS) {
    it(`${title}: ends in time with a clear error`, () => {
      const answer = answers.get(title) ?? assert.fail('no answer');
      const words =
        answer.json.error ??
        JSON.stringify(
          ['ffprobe', 'mediainfo'].map(
            (tool) => (answer.json[tool] as { error?: string; success?: boolean } | undefined)?.error ?? 'ok',
          ),
        );
      record({
        group: 'origins',
        attempt: title,
        expected: `${status.join(' or ')} within ${(TIMEOUT_MS + SPARE_MS) / 1000} s`,
        got: `${answer.status} after ${(answer.ms / 1000).toFixed(1)} s: ${words.slice(0, 160)}`,
      });
      assert.ok(status.includes(answer.status), `${answer.status}: ${answer.text.slice(0, 300)}`);
      assert.match(words, error);
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
