/** The package as it is published, installed into an empty folder, on each supported version of Node. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveUploads, type UploadServer } from '../../src/source/upload/serve.ts';
import { openSpool, type Spool } from '../../src/source/upload/spool.ts';
import { startApi, type ApiFixture } from '../api/fixture.ts';
import { allowAllOptions, answering, type Answering } from '../docs/answers.ts';
import { nodeOf } from './node_versions.ts';
import { packCli } from './packed.ts';
import { execute, type Printed } from './rig.ts';

const root = join(import.meta.dirname, '../..');
/** The newest release of each supported line, and the node of this repository. */
const NODES = ['20.20.2', '22.23.3', process.versions.node];

describe('the npm package', function () {
  this.timeout(300_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-package-'));
  const film = join(folder, 'film.mp4');
  let spool: Spool;
  let uploads: UploadServer;
  let api: ApiFixture;
  let answers: Answering;
  before(async () => {
    copyFileSync(join(root, 'test/fixtures/tiny.mp4'), film);
    spool = await openSpool({ folder: join(folder, 'spool'), maxBytes: 1 << 26 });
    uploads = await serveUploads(spool, { host: '127.0.0.1', port: 0 });
    api = await startApi({}, { uploads: { spool, maxBytes: 1 << 25, host: '127.0.0.1', port: uploads.port } });
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

  it('installs nothing but itself, and has no file that it does not need', () => {
    const { folder: place } = packCli();
    const modules = join(place, 'node_modules');
    assert.deepEqual(
      readdirSync(modules).filter((name) => !name.startsWith('.')),
      ['probeyard'],
    );
    const files = readdirSync(join(modules, 'probeyard'), { recursive: true, withFileTypes: true })
      .filter(
        (file) => file.isFile() && !/^dist\/.*\.js$/.test(join(file.parentPath, file.name).split('probeyard/').at(-1)!),
      )
      .map(({ name }) => name);
    assert.deepEqual(files.toSorted(), ['LICENSE', 'LICENSE.yaml', 'README.md', 'package.json']);
    const { dependencies, scripts, engines } = JSON.parse(
      readFileSync(join(modules, 'probeyard/package.json'), 'utf8'),
    ) as Record<string, Record<string, string>>;
    assert.deepEqual([dependencies, Object.keys(scripts!), engines], [undefined, ['prepack'], { node: '>=20.10' }]);
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
        execute([node, packCli().bin(bin), ...args], {
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
        symlinkSync(packCli().bin('probeyard'), link);
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
