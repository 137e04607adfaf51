/**
 * Any input is either read or refused with 400 and a text; nothing else is ever thrown. Seeded, so that a failure can
 * be repeated.
 */
import assert from 'node:assert/strict';
import { catalogOf } from '../../../../src/service/api/probe/tool_versions.ts';
import type { Input } from '../../../../src/service/api/http/request_context.ts';
import { ApiError } from '../../../../src/service/api/errors.ts';
import { parsePairs, makeReader } from '../../../../src/service/api/http/input/read_fields.ts';
import { ProbeFileSchema, type ProbeFile, selectTools } from '../../../../src/service/api/probe/file_request.ts';
import { readSource } from '../../../../src/service/api/probe/request_source.ts';
import { random } from '../../../source/random.ts';
import { aTool } from '../../a_tool.ts';

const SEED = 20_261_121;
const CASES = 2_000;
const WORDS = [
  'url',
  'ffprobe',
  'mediainfo',
  'probe_report',
  'c2pa',
  'only',
  'timeout',
  'enabled',
  'version',
  'show_frames',
  'select_streams',
  'parse_speed',
  '__proto__',
  'constructor',
  '[',
  ']',
  '[]',
  '[a]',
  '=',
  '&',
  '%',
  '%00',
  '%e9',
  '%F0%9F%98%80',
  '+',
  ' ',
  'true',
  'FALSE',
  '0',
  '-1',
  '1e999',
  '99999999999999',
  'null',
  '{}',
  '{"a":1}',
  'latest',
  '3.3',
  'http://',
  'https://u:p@h/',
  's3://K:S@b/',
  '//',
  'file:///etc/passwd',
  '127.0.0.1',
  '[::1]',
  '@',
  ':',
  '?',
  '#',
  '\\',
  '\u0000',
  '\ud800',
  'é',
  '-i',
  '--',
  'x'.repeat(9000),
];
const VALUES: unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  '',
  'a',
  [],
  {},
  [[]],
  { a: { b: {} } },
  'latest',
  'http://example.org/a',
];

describe('random input to the probe endpoint', function () {
  this.timeout(30_000);
  const read = makeReader<ProbeFile>(ProbeFileSchema);
  const catalog = catalogOf([aTool('ffprobe', '7.0', { latest: true }), aTool('mediainfo', '24.06', { latest: true })]);
  const next = random(SEED);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
  const text = (): string => Array.from({ length: Math.floor(next() * 12) }, () => pick(WORDS)).join('');
  const object = (depth: number): Record<string, unknown> =>
    Object.fromEntries(
      Array.from({ length: Math.floor(next() * 6) }, () => [
        pick(WORDS),
        depth > 0 && next() < 0.5 ? object(depth - 1) : next() < 0.5 ? pick(VALUES) : text(),
      ]),
    );

  const make: Record<string, () => Input> = {
    query: () => ({ form: 'query', pairs: parsePairs(text(), 'query') }),
    form: () => ({ form: 'form', pairs: parsePairs(text(), 'body') }),
    json: () => ({
      form: 'json',
      value: JSON.parse(JSON.stringify(next() < 0.1 ? pick(VALUES) : { url: text(), ...object(3) })) as unknown,
    }),
  };
  for (const [form, made] of Object.entries(make)) {
    it(`as ${form} is read or refused with a reason: ${CASES} cases, seed ${SEED}`, () => {
      let accepted = 0;
      for (let index = 0; index < CASES; index++) {
        try {
          const request = read(made());
          if (request.url === undefined) continue;
          readSource(request.url, { allow: [], deny: [] });
          selectTools(request, catalog);
          accepted++;
        } catch (error) {
          assert.ok(error instanceof ApiError, `case ${index}: ${String((error as Error).stack)}`);
          assert.equal(error.status, 400, `case ${index}: ${error.message}`);
          assert.ok(error.message.length > 5 && error.message.length < 2_000, `case ${index}: ${error.message.length}`);
        }
      }
      assert.ok(accepted < CASES);
    });
  }
});
