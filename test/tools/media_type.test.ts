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
    ['compact', 'text/plain'],
  ] as const) {
    it(`ffprobe ${format} is ${type}`, () =>
      assert.equal(ffprobe.formats?.mediaType(format), `${type}; charset=utf-8`));
  }
  for (const [format, name, form] of [
    [undefined, 'json', 'json'],
    ['json=c=1', 'json', 'json'],
    ['csv=s=x:p=0', 'csv', 'text'],
    ['default=nw=1:nk=1', 'default', 'text'],
  ] as const)
    it(`ffprobe ${format ?? 'without a format'} is the format ${name}`, () => {
      const options = format === undefined ? {} : { output_format: format };
      assert.deepEqual([ffprobe.formats?.of(options), ffprobe.format(options)], [name, form]);
    });
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
