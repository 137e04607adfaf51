import assert from 'node:assert/strict';
import { ffprobe } from '../../src/media/tools/ffprobe.ts';
import { mediainfo, MEDIAINFO_OUTPUTS } from '../../src/media/tools/mediainfo.ts';

describe('media type of a bare output', () => {
  for (const [format, type] of [
    ['json', 'application/json'],
    ['xml', 'application/xml'],
    ['csv', 'text/csv'],
    ['default', 'text/plain'],
    ['flat', 'text/plain'],
    ['ini', 'text/plain'],
  ] as const) {
    it(`ffprobe ${format} is ${type}`, () =>
      assert.equal(ffprobe.formats?.mediaType(format), `${type}; charset=utf-8`));
  }
  const own: Record<string, string> = {
    Text: 'text/plain',
    HTML: 'text/html',
    JSON: 'application/json',
    'EBUCore_1.8_ps_JSON': 'application/json',
    'EBUCore_1.8_sp_JSON': 'application/json',
  };
  for (const output of MEDIAINFO_OUTPUTS) {
    const type = own[output] ?? 'application/xml';
    it(`mediainfo ${output} is ${type}`, () =>
      assert.equal(mediainfo.formats?.mediaType(output), `${type}; charset=utf-8`));
  }
});
