import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildLauncher } from './built_launcher.ts';

const LAUNCHER = await buildLauncher();

const readelf = (...options: string[]): string =>
  execFileSync('readelf', ['-W', ...options, LAUNCHER], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  });

describe('launcher binary', function () {
  this.timeout(60_000);

  it('is position independent and statically linked', () => {
    assert.match(readelf('-h'), /Type:\s+DYN/);
    assert.doesNotMatch(readelf('-l'), /INTERP/);
    assert.doesNotMatch(readelf('-d'), /NEEDED/);
  });
  it('has read-only relocations at run time, and no executable stack', () => {
    const segments = readelf('-l');
    assert.match(segments, /GNU_RELRO/);
    assert.match(segments, /GNU_STACK.* RW {2}0x/);
    assert.match(readelf('-d'), /FLAGS_1.*\bNOW\b.*\bPIE\b/);
  });
  it('has stack protection and checks the sizes of its buffers', () => {
    const symbols = readelf('-s');
    for (const name of ['__stack_chk_fail', '__snprintf_chk']) assert.match(symbols, new RegExp(`\\b${name}\\b`));
  });
  it('is built with the same flags in the image', () => {
    const dockerfile = readFileSync(join(import.meta.dirname, '../../images/probeyard/Dockerfile'), 'utf8');
    assert.match(dockerfile, /cc \$\(cat \/build\/launcher\/cflags\) /);
  });
});
