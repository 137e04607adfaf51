/**
 * The tarball of a release, from Debian's source packages if they have it unmodified, otherwise from its own site. It
 * is verified in either case.
 */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withScratch } from '../cache.ts';
import type { Tarball } from '../catalog.ts';
import { attempt } from '../command.ts';
import { keep, keptAt } from '../fetch.ts';
import { ImageError } from '../image_error.ts';
import { downloadSourceFile, openSuite } from './apt.ts';

const TIMEOUT_MS = 300_000;
/** FFmpeg's release key, FCF986EA15E6E293A5644F10B4322F04D67658D8, as Debian's source packages carry it. */
const keyFile = join(import.meta.dirname, '..', 'keys', 'ffmpeg-release-key.gpg');

export async function fetchTarball(tarball: Tarball): Promise<string> {
  const expected = tarball.sha256 === 'unknown' ? undefined : tarball.sha256;
  if (expected !== undefined && existsSync(keptAt(expected))) return keptAt(expected);
  return withScratch(async (scratch) => {
    const file = join(scratch, tarball.name);
    if (await fromDebian(tarball, file)) return keep(file, expected);
    await download(tarball.url, file);
    if (expected === undefined) await verifySignature(tarball, file, scratch);
    return keep(file, expected);
  });
}

async function fromDebian({ debian }: Tarball, file: string): Promise<boolean> {
  for (const suite of debian?.suites ?? []) {
    if (debian !== undefined && (await downloadSourceFile(await openSuite(suite), debian.package, debian.file, file)))
      return true;
  }
  return false;
}

async function verifySignature({ signature, name }: Tarball, file: string, scratch: string): Promise<void> {
  if (signature === undefined) {
    throw new ImageError(
      'CHECKSUM_UNKNOWN',
      `${name}: the catalog knows neither a checksum nor a signature of it; ` +
        'compare it yourself and write its sha256 into catalog.yaml',
    );
  }
  const signed = join(scratch, 'signature.asc');
  await download(signature, signed);
  const { code, stderr } = await attempt('gpgv', ['--keyring', keyFile, signed, file]);
  if (code !== 0)
    throw new ImageError(
      'CHECKSUM_MISMATCH',
      `${name}: its signature is not good: ${stderr.trim().split('\n').at(-1) ?? ''}`,
    );
}

async function download(url: string, file: string): Promise<void> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    await writeFile(file, Buffer.from(await response.arrayBuffer()));
  } catch (error) {
    const cause = (error as Error).cause;
    const why = cause instanceof Error ? cause.message : (error as Error).message;
    throw new ImageError('SOURCE_UNAVAILABLE', `${url} cannot be had here: ${why}`, { cause: error });
  }
}
