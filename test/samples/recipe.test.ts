/** Each listed sample is made, and each file that is made for itself is listed. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DERIVED } from '../../images/samples/derived.ts';
import { ENCODED, PACKAGED } from '../../images/samples/recipe.ts';
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
