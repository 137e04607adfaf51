/** Lists of hashes: what their lines say, and which line is of a source. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readManifest } from '../../src/cli/commands/qc_command.ts';
import type { Given } from '../../src/cli/command.ts';
import type { GivenSource } from '../../src/cli/given_source.ts';

const [A, B, C] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [string, string, string];
const D = 'd'.repeat(32);

describe('a manifest', () => {
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-manifest-'));
  after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'manifest-sha256.txt');
  const source = (text: string): GivenSource =>
    text.includes('://')
      ? { text, shown: text }
      : { text, shown: text, file: { name: text, size: 1, canRepeat: true, open: () => assert.fail() } };
  async function hashOf(text: string, lines: string, file = path): Promise<object | undefined> {
    writeFileSync(path, lines);
    const given = { text: (name: string) => (name === 'manifest' ? file : undefined) } as unknown as Given;
    const one = source(text);
    return (await readManifest(given, [one])).get(one);
  }

  for (const [what, of, lines, hash] of [
    ['sha256sum', 'film.mkv', `${A}  film.mkv\n${B}  other.mkv\n`, { sha256: A }],
    ['sha256sum, binary', './film.mkv', `${B} *other.mkv\n${A} *film.mkv\n`, { sha256: A }],
    ['md5sum', '/archive/film.mkv', `${D}  ./film.mkv`, { md5: D }],
    ['BagIt', '/bags/7/data/film.mkv', `${A}  data/film.mkv\r\n${B}\tdata/more/film.mkv\r\n`, { sha256: A }],
    ['the longer path', 'data/more/film.mkv', `${A}  film.mkv\n${B}  data/more/film.mkv\n`, { sha256: B }],
    ['an address', 'https://a.test/data/my%20film.mkv?key=1', `${C}  data/my film.mkv\n`, { sha256: C }],
    ['upper case', 'film.mkv', `${A.toUpperCase()}  film.mkv\n`, { sha256: A.toUpperCase() }],
  ] as const)
    it(`has the hash of a file: ${what}`, async () => assert.deepEqual(await hashOf(of, lines), hash));

  for (const [what, of, lines, message] of [
    ['that is not in it', 'film.mkv', `${A}  other.mkv\n`, /has no hash of film\.mkv$/],
    ['of a name that stands twice', 'film.mkv', `${A}  a/film.mkv\n${B}  b/film.mkv\n`, /has no hash of film\.mkv$/],
    ['with a hash of another kind', 'film.mkv', `${A}${A}  film.mkv\n`, /has no hash of film\.mkv$/],
  ] as const)
    it(`refuses a file ${what}`, () => assert.rejects(hashOf(of, lines), { message }));

  it('that is not there is refused', () =>
    assert.rejects(hashOf('a', '', join(folder, 'none')), { message: /^--manifest: .*none cannot be read$/ }));

  it('that is not given has no hashes', async () => {
    const given = { text: () => undefined } as unknown as Given;
    assert.equal((await readManifest(given, [source('a')])).size, 0);
  });
});
