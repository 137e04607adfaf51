import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { rangeIn } from '../../src/base/byte_range.ts';
import { respond, type SampleFile } from '../../src/service/samples/main.ts';

const file = (text: string, etag: string): SampleFile => ({ type: 'video/mp4', etag, body: Buffer.from(text) });
const FILES = new Map([
  ['a.mp4', file('0123456789', '"a"')],
  ['hls/b c.mp4', file('in a folder', '"b"')],
  ['empty.mp4', file('', '"e"')],
]);

const ask = (target: string, headers: IncomingHttpHeaders = {}, method = 'GET') => {
  const { status, headers: answered, body } = respond({ method, target, headers }, FILES);
  return { status, headers: answered, text: body.toString() };
};

describe('samples: response', () => {
  for (const [target, status, text] of [
    ['/a.mp4', 200, '0123456789'],
    ['/a.mp4?x=1', 200, '0123456789'],
    ['/hls/b%20c.mp4', 200, 'in a folder'],
    ['/empty.mp4', 200, ''],
    ['/', 404, 'not found\n'],
    ['/hls', 404, 'not found\n'],
    ['/../a.mp4', 404, 'not found\n'],
    ['/..%2f..%2fetc%2fpasswd', 404, 'not found\n'],
    ['/a.mp4%00', 404, 'not found\n'],
    ['/%', 400, 'the path is not valid\n'],
    ['/%c3%28', 400, 'the path is not valid\n'],
    ['http://other/a.mp4', 404, 'not found\n'],
    ['*', 404, 'not found\n'],
  ] as const)
    it(`GET ${target}: ${status}`, () => {
      const answer = ask(target);
      assert.deepEqual([answer.status, answer.text], [status, text]);
      assert.equal(answer.headers['content-length'], text.length);
    });

  for (const [range, status, text, contentRange] of [
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=4-', 206, '456789', 'bytes 4-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-30', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
    ['bytes=10-', 416, 'the range is not in the file\n', 'bytes */10'],
    ['bytes=-0', 416, 'the range is not in the file\n', 'bytes */10'],
    ['bytes=3-1', 200, '0123456789', undefined],
    ['bytes=0-1,4-5', 200, '0123456789', undefined],
    ['bytes=-', 200, '0123456789', undefined],
    ['lines=0-1', 200, '0123456789', undefined],
    [`bytes=0-${'9'.repeat(400)}`, 200, '0123456789', undefined],
  ] as const)
    it(`range ${range.slice(0, 40)}: ${status}`, () => {
      const answer = ask('/a.mp4', { range });
      assert.deepEqual([answer.status, answer.text, answer.headers['content-range']], [status, text, contentRange]);
      assert.equal(answer.headers['content-length'], text.length);
    });

  it('a range of an empty file is not in it', () => {
    for (const text of ['bytes=0-', 'bytes=-5']) assert.equal(rangeIn(text, 0), 'none');
  });

  it('HEAD: the same headers as GET, without a body', () => {
    for (const headers of [{}, { range: 'bytes=2-5' }]) {
      const [got, head] = [ask('/a.mp4', headers), ask('/a.mp4', headers, 'HEAD')];
      assert.deepEqual([head.status, head.headers, head.text], [got.status, got.headers, '']);
    }
  });

  for (const [name, headers, status] of [
    ['the ETag that the caller has', { 'if-none-match': '"a"' }, 304],
    ['one of several', { 'if-none-match': '"x", W/"a"' }, 304],
    ['any', { 'if-none-match': '*' }, 304],
    ['another', { 'if-none-match': '"x"' }, 200],
    ['If-Range with the same', { 'if-range': '"a"', range: 'bytes=0-1' }, 206],
    ['If-Range with another', { 'if-range': '"x"', range: 'bytes=0-1' }, 200],
  ] as const)
    it(`${name}: ${status}`, () => assert.equal(ask('/a.mp4', headers).status, status));

  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])
    it(`${method}: 405`, () => {
      const answer = ask('/a.mp4', {}, method);
      assert.deepEqual([answer.status, answer.headers['allow']], [405, 'GET, HEAD']);
    });
});
