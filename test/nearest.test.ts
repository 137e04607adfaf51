import assert from 'node:assert/strict';
import { distance, nearest } from '../src/base/nearest.ts';

describe('nearest known name', () => {
  const known = ['show_format', 'show_streams', 'show_frames', 'probesize', 'max_ts_probe'];
  for (const [name, expected] of [
    ['show_stream', 'show_streams'],
    ['showStreams', 'show_streams'],
    ['SHOW-FRAMES', 'show_frames'],
    ['shwo_format', 'show_format'],
    ['probe_size', 'probesize'],
  ] as const) {
    it(`of "${name}" is ${expected}`, () => assert.equal(nearest(name, known), expected));
  }

  for (const [name, names, expected] of [
    ['foo', ['url', 'only', 'timeout'], undefined],
    ['X-Amz-Signature', ['url', 'timeline', 'queue_timeout'], undefined],
    ['__proto__', ['url', 'only', 'output'], undefined],
    ['', ['url', 'a'], undefined],
    ['v', ['p', 'hls'], undefined],
    ['n'.repeat(500), ['probesize', 'url'], undefined],
    ['ulr', ['url', 'only'], 'url'],
    ['iss', ['is', 'in', 'not'], 'is'],
    ['time_out', ['timeout', 'timeline'], 'timeout'],
    ['webhook', ['webhook_url', 'url'], 'webhook_url'],
    ['tiemout', ['timeline', 'timeout'], 'timeout'],
    ['tool', ['timeout', 'only'], undefined],
    ['ffmpeg', ['ffprobe', 'mediainfo'], undefined],
  ] as const)
    it(`"${name.slice(0, 20)}" among ${names.join(', ')}: ${expected ?? 'none is near'}`, () =>
      assert.equal(nearest(name, names), expected));
  it('is undefined without known names', () => assert.equal(nearest('a', []), undefined));
  it('is found quickly even for a name of a megabyte', () => {
    const began = performance.now();
    nearest('x'.repeat(1_000_000), known);
    assert.ok(performance.now() - began < 20_000, 'its square would take hours');
  });

  for (const [a, b, apart] of [
    ['', '', 0],
    ['a', '', 1],
    ['ab', 'ba', 1],
    ['kitten', 'sitting', 3],
    ['same', 'same', 0],
  ] as const) {
    it(`distance ${apart} between "${a}" and "${b}"`, () => assert.equal(distance(a, b), apart));
  }
});
