import assert from 'node:assert/strict';
import Type from 'typebox';
import { makeCheck } from '../../../src/service/api/http/input/read_fields.ts';
import { timeRange, timesOf, type TimeRange } from '../../../src/service/api/records/query_filters.ts';

const check = makeCheck<{ date: TimeRange }>(Type.Object({ date: timeRange('A range.', 'a month ago') }) as object);
const from = (text: string): string => timesOf('date', check({ date: { from: text } }).date).from!.toISOString();

describe('times in queries', () => {
  for (const [text, expected] of [
    ['2026-11-01', '2026-11-01T00:00:00.000Z'],
    ['2026-11-01T12:00:00Z', '2026-11-01T12:00:00.000Z'],
    ['2026-11-01t12:00:00.25z', '2026-11-01T12:00:00.250Z'],
    ['2026-11-01T12:00:00+02:00', '2026-11-01T10:00:00.000Z'],
    ['2026-11-01T12:00:00 02:00', '2026-11-01T10:00:00.000Z'],
    ['1970-01-01', '1970-01-01T00:00:00.000Z'],
    ['8999-12-31T23:59:59-23:59', '9000-01-01T23:58:59.000Z'],
  ] as const)
    it(`${text} is ${expected}`, () => assert.equal(from(text), expected));

  for (const text of [
    '0000-01-01',
    '0001-01-01',
    '1969-12-31',
    '9000-01-01',
    '9999-12-31T23:59:59-23:59',
    '+12026-01-01',
    '2026-02-30',
    '2026-13-01',
    '2026-11-01T24:00:00Z',
    '2026-11-01T12:00',
    'yesterday',
    '',
  ]) {
    it(`${JSON.stringify(text)} is refused`, () => assert.throws(() => from(text), { status: 400 }));
  }
});
