/** Answers of origins that do not speak HTTP, read into memory: those of HTTP are in pool.test.ts. */
import assert from 'node:assert/strict';
import { SourceError } from '../../src/source/error.ts';
import { fillBody, OriginAnswer } from '../../src/source/http/answer.ts';
import { pattern } from './origin.ts';

const body = pattern(1_000);
const limit = new SourceError('too-large', 'more than 500 bytes were read');

interface Case {
  title: string;
  /** The memory that it is read into; the body's length by default. */
  room?: number;
  before?: (answer: OriginAnswer) => void;
  after?: (answer: OriginAnswer) => void;
  read?: number;
  fails?: { code: string; reason?: string };
  /** Whether the origin is told that nobody reads on. */
  gone: boolean;
}
const CASES: Case[] = [
  { title: 'all of it was there', before: all, read: 1_000, gone: true },
  { title: 'a part was there, the rest follows', before: first, after: rest, read: 1_000, gone: false },
  { title: 'no more is wanted', room: 300, before: first, read: 300, gone: true },
  { title: 'no more is wanted of what follows', room: 700, before: first, after: rest, read: 700, gone: true },
  { title: 'it ends too early', after: first, read: 400, fails: { code: 'cut', reason: 'stalled' }, gone: true },
  {
    title: 'its connection is closed',
    before: first,
    after: (answer) => answer.destroy(),
    read: 400,
    fails: { code: 'cut', reason: 'closed' },
    gone: true,
  },
  {
    title: 'it was closed before it was read',
    before: (answer) => answer.destroy(),
    fails: { code: 'cut', reason: 'closed' },
    gone: true,
  },
  {
    title: 'it is over a limit',
    after: (answer) => (first(answer), answer.destroy(limit)),
    read: 400,
    fails: { code: 'too-large' },
    gone: true,
  },
];

function first(answer: OriginAnswer): void {
  answer.give(body.subarray(0, 400));
}
function rest(answer: OriginAnswer): void {
  answer.give(body.subarray(400));
  answer.finish();
}
function all(answer: OriginAnswer): void {
  first(answer);
  rest(answer);
}

describe('an answer that is read into memory', () => {
  for (const { title, room = body.length, before, after, read = 0, fails, gone } of CASES)
    it(title, async () => {
      let left = 0;
      const headers = { 'content-length': String(body.length) };
      const answer = new OriginAnswer(200, headers, { gone: () => (left += 1) });
      before?.(answer);
      const memory = Buffer.alloc(room);
      let at = 0;
      const filling = fillBody(
        answer,
        { idleMs: 200, pace: { whole() {} }, signal: new AbortController().signal },
        () => memory.subarray(at, at + 64),
        (count) => {
          at += count;
        },
      );
      after?.(answer);
      await (fails === undefined ? filling : assert.rejects(filling, fails));
      assert.ok(memory.subarray(0, at).equals(body.subarray(0, read)), `${at} bytes`);
      assert.equal(left > 0, gone);
    });
});
