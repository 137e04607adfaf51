/** Files of pages that the API serves: each beside its packed forms, assets under the hash of their content. */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

export interface Asset {
  name: string;
  extension: string;
  content: string | Buffer;
}

export const assetAddress = ({ name, extension, content }: Asset): string => {
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 12);
  return `assets/${name}-${hash}.${extension}`;
};

/** How a file of pages is written. */
export type WritePage = (folder: string, path: string, content: string) => Promise<void>;

export const writePlain: WritePage = async (folder, path, content) => {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), content);
};

export const writePacked: WritePage = async (folder, path, content) => {
  const body = Buffer.from(content);
  await writePlain(folder, path, content);
  await Promise.all([
    writeFile(join(folder, `${path}.gz`), gzipSync(body, { level: 9 })),
    writeFile(
      join(folder, `${path}.br`),
      brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
    ),
  ]);
};
