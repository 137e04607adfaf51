import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contentKey, contents, once, withScratch } from '../../images/cache.ts';
import { closure } from '../../images/elf.ts';
import { ImageError } from '../../images/image_error.ts';

describe('cache of fetched and built files', () => {
  it('fills a folder once', () =>
    withScratch(async (folder) => {
      const target = join(folder, 'kept');
      let filled = 0;
      const fill = async (out: string) => {
        filled++;
        await writeFile(join(out, 'file'), 'whole');
      };
      assert.equal(await once(target, fill), target);
      assert.equal(await once(target, fill), target);
      assert.equal(filled, 1);
      assert.equal(await readFile(join(target, 'file'), 'utf8'), 'whole');
    }));

  it('shows nothing of a folder that could not be filled', () =>
    withScratch(async (folder) => {
      const target = join(folder, 'kept');
      const half = once(target, async (out) => {
        await writeFile(join(out, 'file'), 'half');
        throw new Error('the disk is full');
      });
      await assert.rejects(half, /the disk is full/);
      assert.equal(existsSync(target), false);
    }));

  it('gives both of two processes that fill the same folder its content', () =>
    withScratch(async (folder) => {
      const target = join(folder, 'kept');
      const fill = (out: string) => writeFile(join(out, 'file'), 'whole');
      assert.deepEqual(await Promise.all([once(target, fill), once(target, fill)]), [target, target]);
    }));

  it('has another key for other content, other names and other file boundaries', () =>
    withScratch(async (folder) => {
      const key = async (name: string, content: string) => {
        const place = join(folder, `${name}-${content}`);
        await mkdir(place);
        await writeFile(join(place, name), content);
        return contents(place);
      };
      const keys = [
        await key('a', '1'),
        await key('a', '2'),
        await key('b', '1'),
        contentKey('ab', 'c'),
        contentKey('a', 'bc'),
      ];
      assert.equal(new Set(keys).size, keys.length);
    }));
});

describe('libraries of a program', () => {
  it('are all found, or the missing one is named', async () => {
    const [program] = [process.execPath];
    const folder = '/lib/x86_64-linux-gnu';
    if (existsSync(folder)) assert.ok((await closure([program], [folder])).has('libc.so.6'));
    await assert.rejects(
      () => closure([program], ['/nowhere']),
      (error: unknown) => {
        assert.ok(error instanceof ImageError);
        assert.equal(error.code, 'LIBRARY_MISSING');
        assert.match(error.message, /^node needs lib[^ ]+, which is in none of \/nowhere$/);
        return true;
      },
    );
  });
});
