/** The client as an installation serves it: installed from it, and as one file, on each supported version of Node. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { bundleCli } from '../../images/cli_bundle.ts';
import { serveUploads, type UploadServer } from '../../src/source/upload/serve.ts';
import { openSpool, type Spool } from '../../src/source/upload/spool.ts';
import { startApi, type ApiFixture } from '../api/fixture.ts';
import { servePages } from '../api/serve_pages.ts';
import { allowAllOptions, answering, type Answering } from '../docs/answers.ts';
import { nodeOf } from './node_versions.ts';
import { packCli, type Packed } from './packed.ts';
import { execute, type Printed } from './rig.ts';

const root = join(import.meta.dirname, '../..');
/** npm, and the node that it runs by. */
const NPM_PATH = [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter);
/** The newest release of each supported line, and the node of this repository. */
const NODES = ['20.20.2', '22.23.3', process.versions.node];
const { version: VERSION } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

describe('the npm package', function () {
  this.timeout(300_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-package-'));
  const film = join(folder, 'film.mp4');
  let spool: Spool;
  let uploads: UploadServer;
  let api: ApiFixture;
  let answers: Answering;
  let packed: Packed;
  before(async () => {
    packed = await packCli();
    copyFileSync(join(root, 'test/fixtures/tiny.mp4'), film);
    spool = await openSpool({ folder: join(folder, 'spool'), maxBytes: 1 << 26 });
    uploads = await serveUploads(spool, { host: '127.0.0.1', port: 0 });
    api = await startApi(
      { clientFolder: packed.served },
      { uploads: { spool, maxBytes: 1 << 25, host: '127.0.0.1', port: uploads.port } },
    );
    await allowAllOptions(api);
    answers = answering(api);
  });
  after(async () => {
    await answers?.stop();
    await api?.stop();
    await uploads?.close();
    await spool?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('npm installs it from the address of the API: nothing but itself, in the version of the API', async () => {
    const prefix = mkdtempSync(join(folder, 'prefix-'));
    const { code, stderr } = await execute(
      ['npm', 'install', '--global', '--no-audit', '--no-fund', '--prefix', prefix, `${api.url}/cli.tgz`],
      { env: { PATH: NPM_PATH, HOME: prefix, npm_config_registry: 'http://127.0.0.1:9' } },
    );
    assert.equal(code, 0, stderr);
    const modules = join(prefix, 'lib/node_modules');
    assert.deepEqual(
      readdirSync(modules).filter((name) => !name.startsWith('.')),
      ['probeyard'],
    );
    const files = readdirSync(join(modules, 'probeyard'), { recursive: true, encoding: 'utf8' });
    const { name, version, bin, scripts, dependencies } = JSON.parse(
      readFileSync(join(modules, 'probeyard/package.json'), 'utf8'),
    ) as Record<string, object | string>;
    assert.deepEqual([name, version, scripts, dependencies], ['probeyard', VERSION, undefined, undefined]);
    assert.deepEqual(
      files.toSorted(),
      ['LICENSE', 'README.md', 'bin', 'package.json', 'probeyard.mjs', ...Object.values(bin!)].toSorted(),
    );
    assert.deepEqual(readdirSync(join(prefix, 'bin')), Object.keys(bin!).toSorted());
    const started = await execute([join(prefix, 'bin/probeyard'), '--version'], { env: { PATH: NPM_PATH } });
    assert.equal(started.stdout.toString(), `probeyard ${VERSION}\n`);
  });

  it('as one file: runs beside nothing else, also where it is executable', async () => {
    const place = mkdtempSync(join(folder, 'single-'));
    const file = join(place, 'probeyard.mjs');
    const served = await fetch(`${api.url}/probeyard.mjs`);
    writeFileSync(file, Buffer.from(await served.arrayBuffer()), { mode: 0o755 });
    const env = { PATH: NPM_PATH, HOME: place, PROBEYARD_URL: api.url, PROBEYARD_TOKEN: api.token };
    for (const command of [[process.execPath, file], [file]]) {
      const { code, stdout, stderr } = await execute([...command, 'versions', '-o', 'yaml'], { env });
      assert.deepEqual([code, stderr], [0, ''], command.join(' '));
      assert.match(stdout.toString(), /^success: true\n/);
    }
    assert.deepEqual(readdirSync(place), ['probeyard.mjs']);
    assert.match(readFileSync(file, 'utf8'), /yaml: Copyright Eemeli Aro/);
  });

  it('is served to everybody, with its type, and checked again by its ETag', async () => {
    for (const [name, type] of [
      ['cli.tgz', 'application/gzip'],
      ['probeyard.mjs', 'text/javascript; charset=utf-8'],
    ] as const) {
      const first = await fetch(`${api.url}/${name}`, { method: 'HEAD' });
      const header = (named: string) => first.headers.get(named);
      assert.deepEqual([first.status, header('content-type'), header('cache-control')], [200, type, 'no-cache']);
      assert.deepEqual([header('x-content-type-options'), header('access-control-allow-origin')], ['nosniff', null]);
      const again = await fetch(`${api.url}/${name}`, {
        headers: { 'If-None-Match': header('etag')!, 'Cache-Control': 'max-age=0' },
      });
      assert.equal(again.status, 304);
      assert.equal((await fetch(`${api.url}/${name}`, { method: 'POST' })).status, 405);
    }
    const without = await servePages({ clientFolder: join(folder, 'none') });
    assert.equal((await fetch(`http://127.0.0.1:${without.port}/cli.tgz`)).status, 404);
    await without.close(1_000);
  });

  it('the same sources make the same bytes', async () => {
    const again = join(folder, 'again');
    await bundleCli(again);
    for (const name of readdirSync(packed.served))
      assert.ok(readFileSync(join(again, name)).equals(readFileSync(join(packed.served, name))), name);
  });

  for (const version of NODES)
    describe(`on Node ${version}`, () => {
      let node: string;
      before(function () {
        const found = version === process.versions.node ? process.execPath : nodeOf(version);
        if (found === null) this.skip();
        node = found;
      });

      const run = (bin: string, args: readonly string[], input = ''): Promise<Printed> =>
        execute([node, packed.bin(bin), ...args], {
          input,
          env: { HOME: folder, PROBEYARD_URL: api.url, PROBEYARD_TOKEN: api.token },
        });
      const printed = async (bin: string, args: readonly string[], input?: string): Promise<string> => {
        const { code, stdout, stderr } = await run(bin, args, input);
        assert.deepEqual([code, stderr], [0, ''], args.join(' '));
        return stdout.toString();
      };

      it('starts, and says what it can', async () => {
        assert.match(await printed('probeyard', ['--version']), /^probeyard \d+\.\d+\.\d+\n$/);
        assert.match(await printed('probeyard', ['check', '--help']), /^Judge files by a policy\./);
        assert.match(await printed('kubectl-probeyard', ['--help']), /^Look into a Probeyard/);
        assert.match(await printed('kubectl_complete-probeyard', ['to']), /^tools\t.*\ntop\t.*\n:4\n$/);
      });

      it('calls the API, and sends files', async () => {
        assert.match(await printed('probeyard', ['versions', '-o', 'yaml']), /^success: true\n/);
        assert.match(await printed('probeyard', ['probe', film]), /film\.mp4\n/);
        assert.match(await printed('probeyard', ['probe', '-', '-o', 'json'], 'media'), /^\{"success":true/);
        const wrong = await run('probeyard', ['probe', film, '--set', 'ffprobe.nothing=1']);
        assert.deepEqual([wrong.code, wrong.stdout.toString()], [2, '']);
        assert.match(wrong.stderr, /^probeyard: ffprobe\.nothing: is unknown/);
      });

      it('stands in for ffprobe under its name', async () => {
        const link = join(mkdtempSync(join(folder, 'bin-')), 'ffprobe');
        symlinkSync(packed.bin('probeyard'), link);
        const { code, stdout, stderr } = await execute(
          [node, link, '-v', 'quiet', '-of', 'json', '-show_format', film],
          {
            env: { HOME: folder, PROBEYARD_URL: api.url, PROBEYARD_TOKEN: api.token },
          },
        );
        assert.equal(code, 0, stderr);
        assert.ok('format' in JSON.parse(stdout.toString()));
      });
    });
});
