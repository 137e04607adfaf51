import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { withScratch } from '../../images/cache.ts';
import type { Tarball } from '../../images/catalog.ts';
import { keep, keptAt } from '../../images/fetch.ts';
import { fetchTarball } from '../../images/fetch/upstream.ts';
import { ImageError, type ImageErrorCode } from '../../images/image_error.ts';

const RELEASE = `a release, made up for this test by process ${process.pid}`;
const CHECKSUM = createHash('sha256').update(RELEASE).digest('hex');

const failsWith = (code: ImageErrorCode, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ImageError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, message);
  return true;
};

describe('fetched files', () => {
  let server: Server;
  let base: string;
  beforeEach(async () => {
    server = createServer((request, response) => {
      if (request.url === '/release.tar') response.end(RELEASE);
      else if (request.url === '/release.tar.asc')
        response.end('-----BEGIN PGP SIGNATURE-----\n\nnot one\n-----END PGP SIGNATURE-----\n');
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await rm(keptAt(CHECKSUM), { force: true });
  });

  const tarball = (changes: Partial<Tarball>): Tarball => ({
    name: 'release.tar',
    url: `${base}/release.tar`,
    sha256: CHECKSUM,
    ...changes,
  });

  it('are cached by checksum, and not fetched again', async () => {
    const file = await fetchTarball(tarball({}));
    assert.equal(file, keptAt(CHECKSUM));
    assert.equal(await readFile(file, 'utf8'), RELEASE);
    server.close();
    server.closeAllConnections();
    assert.equal(await fetchTarball(tarball({})), file);
  });

  it('are refused with another checksum', () =>
    assert.rejects(
      () => fetchTarball(tarball({ sha256: '0'.repeat(64) })),
      failsWith('CHECKSUM_MISMATCH', /release\.tar: sha256 is [0-9a-f]{64}, the catalog says 0{64}/),
    ));

  it('are refused without a known checksum or signature', () =>
    assert.rejects(
      () => fetchTarball(tarball({ sha256: 'unknown' })),
      failsWith('CHECKSUM_UNKNOWN', /neither a checksum nor a signature/),
    ));

  it('are refused with an invalid signature', () =>
    assert.rejects(
      () => fetchTarball(tarball({ sha256: 'unknown', signature: `${base}/release.tar.asc` })),
      failsWith('CHECKSUM_MISMATCH', /its signature is not good/),
    ));

  it('that are unavailable: the error has the address and the status', () =>
    assert.rejects(
      () => fetchTarball(tarball({ url: `${base}/gone.tar` })),
      failsWith('SOURCE_UNAVAILABLE', /gone\.tar cannot be had here: HTTP 404/),
    ));

  it('are not cached after a failure', () =>
    withScratch(async (folder) => {
      const file = join(folder, 'release.tar');
      await writeFile(file, 'something else');
      await assert.rejects(() => keep(file, CHECKSUM), failsWith('CHECKSUM_MISMATCH', /release\.tar/));
      await assert.rejects(() => readFile(keptAt(CHECKSUM)), /ENOENT/);
    }));
});
