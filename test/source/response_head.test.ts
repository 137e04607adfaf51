import assert from 'node:assert/strict';
import { parseHead, ResponseError } from '../../src/source/http/response_head.ts';

const head = (...lines: string[]): ReturnType<typeof parseHead> => parseHead(lines.join('\r\n'));

describe('head of a response', () => {
  it('has a status, and headers by their lower-case names without the space around them', () => {
    const { status, headers } = head('HTTP/1.1 206 Partial Content', 'Content-Length:\t 5 ', 'X-A:', 'x-b: \u00fc: y');
    assert.equal(status, 206);
    assert.deepEqual({ ...headers }, { 'content-length': '5', 'x-a': '', 'x-b': '\u00fc: y' });
  });

  it('joins repeated headers, and takes the first of those that can have one value', () => {
    const { headers } = head('HTTP/1.1 200', 'X-A: 1', 'x-a: 2', 'ETag: "1"', 'etag: "2"');
    assert.deepEqual({ ...headers }, { 'x-a': '1, 2', etag: '"1"' });
  });

  it('has headers with the names of properties of objects', () => {
    const { headers } = head('HTTP/1.1 200 OK', '__proto__: x', 'constructor: y');
    assert.equal(headers['constructor'], 'y');
    assert.equal(Object.getPrototypeOf(headers), null);
    assert.equal(head('HTTP/1.1 200 OK').headers['constructor'], undefined);
  });

  const bodies: [string, string[], ReturnType<typeof parseHead>['body'], boolean][] = [
    ['of a length', ['HTTP/1.1 200 OK', 'content-length: 12'], 12, true],
    ['of no length: until the connection ends', ['HTTP/1.1 200 OK'], 'close', false],
    ['in chunks', ['HTTP/1.1 200 OK', 'transfer-encoding: gzip, Chunked'], 'chunked', true],
    ['in another encoding', ['HTTP/1.1 200 OK', 'transfer-encoding: chunked, gzip'], 'close', false],
    ['of 204: none', ['HTTP/1.1 204 No Content'], 0, true],
    ['of 304: none, whatever its length', ['HTTP/1.1 304 Not Modified', 'content-length: 9'], 0, true],
    ['whose connection closes', ['HTTP/1.1 200 OK', 'content-length: 1', 'connection: x, Close'], 1, false],
    ['of HTTP/1.0', ['HTTP/1.0 200 OK', 'content-length: 1'], 1, false],
    ['of HTTP/1.0 that keeps it', ['HTTP/1.0 200 OK', 'content-length: 1', 'connection: Keep-Alive'], 1, true],
  ];
  for (const [title, lines, body, keepsAlive] of bodies)
    it(`tells of a body ${title}`, () => {
      const known = head(...lines);
      assert.deepEqual([known.body, known.keepsAlive], [body, keepsAlive]);
    });

  it('tells how long the connection is kept', () => {
    assert.equal(head('HTTP/1.1 200 OK', 'keep-alive: timeout=5, max=100').keptMs, 5000);
    assert.equal(head('HTTP/1.1 200 OK', 'keep-alive: max=100').keptMs, undefined);
  });

  const wrong: [string, string[]][] = [
    ['nothing', ['']],
    ['another protocol', ['ICY 200 OK']],
    ['another version', ['HTTP/2 200 OK']],
    ['a status of two digits', ['HTTP/1.1 99 x']],
    ['a status below 100', ['HTTP/1.1 050 x']],
    ['no status', ['HTTP/1.1 OK']],
    ['a line without a colon', ['HTTP/1.1 200 OK', 'abc']],
    ['a line without a name', ['HTTP/1.1 200 OK', ': abc']],
    ['a space in a name', ['HTTP/1.1 200 OK', 'content-length : 5']],
    ['a continued line', ['HTTP/1.1 200 OK', 'a: b', ' c: d']],
    ['a line that ends in LF alone', ['HTTP/1.1 200 OK', 'a: b\nc: d']],
    ['a zero byte', ['HTTP/1.1 200 OK', 'a: \u0000']],
    ['a negative length', ['HTTP/1.1 200 OK', 'content-length: -5']],
    ['a length of too many digits', ['HTTP/1.1 200 OK', `content-length: ${'9'.repeat(16)}`]],
    ['a list of lengths', ['HTTP/1.1 200 OK', 'content-length: 5, 5']],
    ['two lengths', ['HTTP/1.1 200 OK', 'content-length: 5', 'Content-Length: 5']],
    ['a length and chunks', ['HTTP/1.1 200 OK', 'content-length: 5', 'transfer-encoding: chunked']],
  ];
  for (const [title, lines] of wrong)
    it(`cannot be ${title}`, () => assert.throws(() => head(...lines), ResponseError));
});
