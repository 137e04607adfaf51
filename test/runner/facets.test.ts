import assert from 'node:assert/strict';
import type { Facets } from '../../src/media/policy/facets.ts';
import type { RuleResult } from '../../src/media/policy/schema.ts';
import { facetsOf } from '../../src/service/runner/facets.ts';
import { rawResult } from './raw_result.ts';
import { outputsOf, picture } from '../report/sample.ts';

const outputs = outputsOf('picture_and_sound.mkv');
const [ffprobe, mediainfo] = [
  rawResult('ffprobe', outputs['ffprobe 9.0']),
  rawResult('mediainfo', outputs['mediainfo 26.10']),
];
const ofFilm = { container: ['matroska'], video_codec: ['vp9'], audio_codec: ['aac'], hdr: ['SDR'] };
const ofPicture = (...more: Parameters<typeof picture>): Facets => {
  const told = picture(...more);
  return (
    facetsOf([rawResult('ffprobe', told.ffprobe?.output), rawResult('mediainfo', told.mediainfo?.output)], undefined) ??
    {}
  );
};

describe('facets of a file', () => {
  for (const [what, tools, facets] of [
    ['by both tools', [ffprobe, mediainfo], ofFilm],
    ['by ffprobe alone', [ffprobe], ofFilm],
    ['by mediainfo alone', [mediainfo], ofFilm],
    ['where ffprobe failed', [{ ...ffprobe, success: false }, mediainfo], ofFilm],
    ['where ffprobe listed frames', [{ ...ffprobe, output: Buffer.alloc(2 * 1024 * 1024, ' ') }], undefined],
    [
      'of sound alone',
      [rawResult('ffprobe', outputsOf('elementary.ac3')['ffprobe 9.0'])],
      { container: ['ac3'], audio_codec: ['ac3'] },
    ],
    ['that no tool could read', [rawResult('ffprobe', 'no JSON')], undefined],
  ] as const)
    it(what, () => assert.deepEqual(facetsOf(tools, undefined), facets));

  it('HDR that one of the tools sees', () => {
    const pq = { color_transfer: 'smpte2084', color_primaries: 'bt2020' };
    const dolby = { HDR_Format: 'Dolby Vision', HDR_Format_Profile: 'dvhe.08' };
    assert.deepEqual([ofPicture(pq).hdr, ofPicture(pq, dolby).hdr], [['PQ'], ['PQ', 'Dolby Vision']]);
  });

  it('what the name of a codec must not be is left out', () => {
    const odd = (codec: string) => rawResult('ffprobe', { streams: [{ codec_type: 'audio', codec_name: codec }] });
    assert.deepEqual(
      ['a\u0000', 'é', 'x'.repeat(200)].map((codec) => facetsOf([odd(codec)], undefined)),
      [undefined, undefined, undefined],
    );
  });

  it('rules that did not pass, with their outcome, twenty at most', () => {
    const rule = (name: string, outcome: RuleResult['outcome']): RuleResult => ({
      name,
      level: 'fail',
      outcome,
      message: '',
    });
    const judged = (rules: RuleResult[]) => facetsOf([], { name: 'house', revision: 1, outcome: 'fail', rules })?.rule;
    assert.deepEqual(judged([rule('a', 'pass'), rule('b', 'fail'), rule('c', 'waived'), rule('d', 'not-applicable')]), [
      'fail: b',
      'waived: c',
    ]);
    assert.equal(judged(Array.from({ length: 30 }, (_, n) => rule(String(n), 'unknown')))?.length, 20);
  });
});
