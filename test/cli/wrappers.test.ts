/** Libraries that start ffprobe: with `probeyard` in its place they say the same. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { execute, startInstallation, type Installation } from './rig.ts';
import { standIn } from './stand_in.ts';
import { STREAMING, WRAPPERS, type Wrapper } from './wrappers.ts';

const root = join(import.meta.dirname, '../..');
const VERSION = '9.0';

describe('libraries that start ffprobe', function () {
  this.timeout(240_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-wrappers-'));
  const film = join(folder, 'film.mp4');
  let here: Installation;
  let base: string;
  /** Fetched and built before the service starts: it is in this process, and would stand still meanwhile. */
  let commands: Map<Wrapper, readonly string[] | null>;
  before(async function () {
    commands = new Map([...WRAPPERS, STREAMING].map((wrapper) => [wrapper, wrapper.command()]));
    copyFileSync(join(root, 'test/fixtures/tiny.mp4'), film);
    here = await startInstallation([{ tool: 'ffprobe', version: VERSION, latest: true }], this);
    base = (await here.origin(folder)).url;
    standIn(join(folder, 'own'), 'ffprobe', here.binary('ffprobe', VERSION));
    standIn(join(folder, 'shim'), 'ffprobe', [process.execPath, join(root, 'src/cli/main.ts'), 'ffprobe']);
  });
  after(async () => {
    await here?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function saidBy(place: 'own' | 'shim', command: readonly string[], source: string): Promise<object> {
    const { code, stdout, stderr } = await execute([...command, source], {
      env: {
        ...here.env,
        FFPROBE_PATH: join(folder, place, 'ffprobe'),
        PATH: `${join(folder, place)}${delimiter}${process.env['PATH']}`,
      },
    });
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout.toString()) as object;
  }

  /** Without what only a whole file has. */
  const ofPipe = (said: object): unknown =>
    JSON.parse(JSON.stringify(said, (name, value: unknown) => (/^(?:size|bit_rate)$/.test(name) ? undefined : value)));

  const commandOf = (wrapper: Wrapper, skip: () => never): readonly string[] => commands.get(wrapper) ?? skip();

  for (const wrapper of WRAPPERS)
    it(`${wrapper.name}: a file and an address`, async function () {
      const command = commandOf(wrapper, () => this.skip());
      for (const source of [film, `${base}/film.mp4`])
        assert.deepEqual(await saidBy('shim', command, source), await saidBy('own', command, source));
    });

  it(STREAMING.name, async function () {
    const command = commandOf(STREAMING, () => this.skip());
    assert.deepEqual(ofPipe(await saidBy('shim', command, film)), ofPipe(await saidBy('own', command, film)));
  });
});
