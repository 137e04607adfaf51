import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildKey, type SourceFile, type Toolchain } from '../../node/build_key.ts';
import { run } from '../../node/command.ts';
import type { Part } from '../../node/parts.ts';

const part: Part = {
  name: 'runc',
  version: '1',
  programs: [{ name: 'runc', source: './cmd' }],
  tags: 'seccomp',
  ldflags: '-X a=b',
  coldSeconds: 1,
};
const toolchain: Toolchain = { go: 'go1.26.8', cc: '12.2.0', arch: 'amd64' };
const files: SourceFile[] = [
  { path: 'go.mod', content: 'module x' },
  { path: 'go.sum', content: 'sum' },
];
const key = buildKey(part, toolchain, files);

describe('key of a build', () => {
  it('is the same for the same content, in any order of the files', () => {
    assert.equal(buildKey({ ...part }, { ...toolchain }, files.toReversed()), key);
  });

  it('does not change with a comment on the part', () => {
    assert.equal(buildKey({ ...part, version: '2', coldSeconds: 99 }, toolchain, files), key);
  });

  for (const [what, other] of [
    ['a pinned version', buildKey(part, toolchain, [files[0]!, { path: 'go.sum', content: 'sum2' }])],
    ['a source file', buildKey(part, toolchain, [...files, { path: 'main.go', content: 'package main' }])],
    [
      'a move of bytes from one file to the next',
      buildKey(part, toolchain, [
        { path: 'go.mod', content: 'module xsum' },
        { path: 'go.sum', content: '' },
      ]),
    ],
    ['a build tag', buildKey({ ...part, tags: 'none' }, toolchain, files)],
    ['a linker flag', buildKey({ ...part, ldflags: '' }, toolchain, files)],
    ['cgo', buildKey({ ...part, cgo: true }, toolchain, files)],
    ['the version of Go', buildKey(part, { ...toolchain, go: 'go1.27.0' }, files)],
    ['the architecture', buildKey(part, { ...toolchain, arch: 'arm64' }, files)],
    ['the list of programs', buildKey({ ...part, programs: [] }, toolchain, files)],
  ] as const) {
    it(`changes with ${what}`, () => assert.notEqual(other, key));
  }

  it('depends on the C compiler only if one is used', () => {
    const cc = { ...toolchain, cc: '13' };
    assert.equal(buildKey(part, cc, files), key);
    assert.notEqual(buildKey({ ...part, cgo: true }, cc, files), buildKey({ ...part, cgo: true }, toolchain, files));
  });
});

describe('cache of builds', function () {
  this.timeout(60_000);
  const cache = mkdtempSync(join(tmpdir(), 'probeyard-cache-'));
  after(() => rmSync(cache, { recursive: true, force: true }));
  const script = `
    import { buildParts } from ${JSON.stringify(join(import.meta.dirname, '..', '..', 'node', 'build.ts'))};
    console.log('AT ' + (await buildParts(['pause'])).get('pause'));`;
  const build = () => run(process.execPath, ['--input-type=module', '-e', script], { env: { XDG_CACHE_HOME: cache } });

  it('contains only complete builds, and deletes the remains of a killed one', async () => {
    const bin = join(cache, 'probeyard', 'bin');
    // No process has this id: the kernel's maximum is 2^22.
    const half = join(bin, '.half-99999999-abc');
    mkdirSync(half, { recursive: true });
    writeFileSync(join(half, 'pause'), 'half');
    const output = await build();
    assert.match(output, /built pause/);
    assert.deepEqual(readdirSync(bin).length, 1);
    assert.match(readdirSync(bin)[0]!, /^pause-[0-9a-f]{16}$/);
  });

  it('is used for the second build', async () => {
    assert.doesNotMatch(await build(), /built pause/);
  });
});
