import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { cluster, eventually, fixtures, type Cluster } from '../cluster/fixture.ts';
import { heldUploads, sendFile } from '../cluster/uploads.ts';
import { people, type People } from './people.ts';
import { record } from './record.ts';

const GROUP = 'uploads';
const clip = readFileSync(join(fixtures, 'tiny.mp4'));
const PORT = 8081;

describe('hostile uploads', function () {
  this.timeout(180_000);
  let c: Cluster;
  let accounts: People;
  before(async () => {
    c = await cluster();
    accounts = people(c);
  });
  after(async () => {
    await accounts.close();
    await c.close();
  });

  const attempt = (title: string, expected: string, run: () => Promise<string>): void => {
    it(`${title}: ${expected}`, async () => {
      let got = 'failed';
      try {
        got = await run();
      } finally {
        record({ group: GROUP, attempt: title, expected, got });
      }
    });
  };

  attempt('another tenant names the upload of a replica as a source', 'refused, as any address inside', async () => {
    const mallory = await accounts.make();
    const [replica] = await heldUploads(c);
    for (const url of [`http://${replica!.ip}:${PORT}/${'0'.repeat(32)}`, 'upload:///clip.mp4']) {
      const { status, text } = await c.probe({ url }, { token: mallory.token });
      assert.equal(status, 400, text);
    }
    return '400, 400';
  });

  attempt('another tenant reads the result of an upload', '404', async () => {
    const mallory = await accounts.make();
    const { json } = await sendFile(c, clip);
    const { status } = await c.get(`/v1/probe/${json.metadata!.request_id}`, mallory.token);
    assert.equal(status, 404);
    return '404';
  });

  attempt(
    'an upload that trickles, 20 times at once',
    'each is closed within 30 s, and others are served',
    async () => {
      const { hostname, port } = new URL(c.url);
      const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n';
      let closed = 0;
      const sockets = Array.from({ length: 20 }, () => {
        const socket = connect(Number(port), hostname);
        socket.on('error', () => {}).on('data', () => {});
        socket.on('close', () => closed++);
        socket.write(
          `POST /v1/probe/file HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${c.token}\r\n` +
            `Content-Length: 100000000\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n${head}`,
        );
        return socket;
      });
      const trickle = setInterval(() => {
        for (const socket of sockets) if (socket.writable) socket.write('x');
      }, 500);
      try {
        const { status } = await sendFile(c, clip);
        assert.equal(status, 200);
        await eventually('all are closed', 60, () => closed === sockets.length);
      } finally {
        clearInterval(trickle);
        for (const socket of sockets) socket.destroy();
      }
      await eventually('nothing is left', 20, async () => (await heldUploads(c)).every(({ files }) => files === 0));
      return 'closed, 200 meanwhile';
    },
  );

  const multipart = async (body: string): Promise<{ status: number; text: string }> => {
    const response = await fetch(`${c.url}/v1/probe/file`, {
      method: 'POST',
      headers: { authorization: `Bearer ${c.token}`, 'content-type': 'multipart/form-data; boundary=b' },
      body,
      signal: AbortSignal.timeout(60_000),
    });
    return { status: response.status, text: await response.text() };
  };
  const part = (disposition: string, content = 'v'): string =>
    `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;

  for (const [title, body] of [
    ['1,000 parts', Array.from({ length: 1_000 }, (_, at) => part(`name="f${at}"`)).join('')],
    ['1,000 files', Array.from({ length: 1_000 }, () => part('name="file"; filename="a"')).join('')],
    ['a part whose headers have 10 MB', part(`name="a"\r\nX: ${'x'.repeat(10_000_000)}`)],
    ['names of fields with control characters', part('name="u\u0001rl"') + part('name="\u0000"')],
  ] as const)
    attempt(title, '400', async () => {
      const { status, text } = await multipart(`${body}--b--\r\n`);
      assert.equal(status, 400, text);
      assert.ok(!/\p{Cc}/u.test(text), JSON.stringify(text));
      return '400';
    });

  attempt('a name of a file with a path, line breaks and markup', 'its last segment, percent-encoded', async () => {
    const { status, text } = await multipart(
      `${part('name="file"; filename="../../etc/<script>a b\u0007.mp4"', 'not a movie')}--b--\r\n`,
    );
    assert.equal(status, 200, text);
    for (const trace of ['etc/', '<script', '\u0007']) assert.ok(!text.includes(trace), text);
    return 'nothing of it';
  });

  attempt('an archive of archives (42.zip) as a file', 'read as bytes, and unpacked by nothing', async () => {
    const zip = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), Buffer.alloc(40_000, 0x50)]);
    const { status, text } = await sendFile(c, zip, { name: '42.zip' });
    assert.equal(status, 200, text);
    return '200, failed by the tools';
  });

  attempt('headers for a host that redirects to another', 'the other host gets none', async () => {
    const seen: (string | undefined)[] = [];
    const other = await c.origin((request, response) => {
      seen.push(request.headers.authorization ?? request.headers.cookie);
      response.writeHead(404).end();
    });
    const first = await c.origin((_, response) => void response.writeHead(302, { location: `${other.url}/a` }).end());
    await c.probe({ url: `${first.url}/a.mp4`, headers: { Authorization: 'Bearer x' }, cookies: { a: 'b' } });
    assert.ok(seen.length > 0);
    assert.deepEqual([...new Set(seen)], [undefined]);
    return 'none';
  });
});
