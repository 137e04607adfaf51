import assert from 'node:assert/strict';
import { pairs } from '../../src/media/report/match.ts';
import type { SideStream } from '../../src/media/report/side.ts';

const stream = (type: SideStream['type'], more: Partial<SideStream> = {}): SideStream => ({
  type,
  order: 0,
  id: 1,
  fields: {},
  ...more,
});

describe('report: matching of streams', () => {
  it('never pairs streams of two kinds, however similar', () => {
    const [video, audio] = [
      stream('video', { fields: { language: 'eng' } }),
      stream('audio', { fields: { language: 'eng' } }),
    ];
    assert.deepEqual(pairs([video], [audio]), [
      { ffprobe: video, mediainfo: undefined },
      { ffprobe: undefined, mediainfo: audio },
    ]);
  });

  it('pairs the last two of a kind, however different', () => {
    const [one, other] = [
      stream('audio', { id: 256, fields: { 'codec.name': 'aac' } }),
      stream('audio', { id: 7, order: 3, fields: { 'codec.name': 'mp3' } }),
    ];
    assert.deepEqual(pairs([one], [other]), [{ ffprobe: one, mediainfo: other }]);
  });
});
