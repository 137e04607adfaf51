/** Each listed sample is made, and each file that is made for itself is listed. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { samplesFolder } from '../../images/samples_folder.ts';
import { DERIVED } from '../../images/samples/derived.ts';
import { ENCODED, PACKAGED } from '../../images/samples/recipe.ts';
import { readFrames } from '../../src/media/report/frames.ts';
import { FIRST_SAMPLE, SAMPLES } from '../../src/service/samples/list.ts';

const signed = readdirSync(fileURLToPath(new URL('../../images/samples/signed', import.meta.url)));
const made = [...Object.keys(ENCODED), ...Object.keys(DERIVED), ...signed.map((name) => `c2pa/${name}`)];
const listed = SAMPLES.map(({ path }) => path);
/** Segments of a playlist, and what others are made of. */
const NOT_LISTED = /^(?:hls-faults\/(?!main)|h264-plain\.mp4$)/;

describe('samples: recipe', () => {
  it('makes every listed sample', () => {
    const packaged = (path: string): boolean => Object.keys(PACKAGED).some((folder) => path.startsWith(`${folder}/`));
    assert.deepEqual(
      listed.filter((path) => !made.includes(path) && !packaged(path)),
      [],
    );
  });

  it('makes nothing that is not listed', () => {
    assert.deepEqual(
      made.filter((path) => !listed.includes(path) && !NOT_LISTED.test(path)),
      [],
    );
  });

  it('names are unique, and the first sample is one of them', () => {
    assert.equal(new Set(listed).size, listed.length);
    assert.ok(listed.includes(FIRST_SAMPLE));
  });
});

describe('samples: HDR10', () => {
  it('has the colours, mastering display and light levels that it is listed with', async function () {
    if (spawnSync('ffprobe', ['-version']).error) this.skip();
    this.timeout(120_000);
    const file = join(await samplesFolder(), 'hevc-hdr10.mp4');
    const args = ['-v', 'error', '-select_streams', 'v:0', '-show_frames', '-read_intervals', '%+#2', '-of', 'json'];
    const frames = JSON.parse(execFileSync('ffprobe', [...args, file], { encoding: 'utf8' })) as unknown;
    assert.deepEqual(readFrames(frames, 'hevc')?.fields, {
      'color.primaries': 'bt2020',
      'color.transfer': 'smpte2084',
      'color.matrix': 'bt2020nc',
      'hdr.mastering_display': true,
      'hdr.max_cll': 1000,
      'hdr.max_fall': 400,
    });
  });
});
