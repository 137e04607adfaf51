/** The command line and the plugin of kubectl on the cluster. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execute, type Printed } from '../cli/rig.ts';
import { standInsOfCheckout } from '../cli/stand_in.ts';
import { NAMESPACE, cluster, eventually, fixtures, type Cluster } from './fixture.ts';

const root = join(import.meta.dirname, '../..');
const SOURCES = join(root, 'src/cli');

describe('the command line on the cluster', function () {
  this.timeout(180_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-cli-'));
  const kubectlPlugin = join(standInsOfCheckout(folder), 'kubectl-probeyard');
  let c: Cluster;
  let film: string;
  before(async () => {
    c = await cluster();
    film = `${(await c.origin(fixtures)).url}/tiny.mp4`;
    symlinkSync(join(root, '.local/bin/kubectl'), join(folder, 'kubectl'));
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await c.close();
  });

  const env = (): NodeJS.ProcessEnv => ({ PATH: `${folder}:${process.env['PATH']}`, HOME: folder });
  const probeyard = (...args: string[]): Promise<Printed> =>
    execute([process.execPath, join(SOURCES, 'main.ts'), ...args], {
      env: { ...env(), PROBEYARD_URL: c.url, PROBEYARD_TOKEN: c.token },
    });
  const plugin = (...args: string[]): Promise<Printed> =>
    execute([kubectlPlugin, args[0]!, `--kubeconfig=${c.kubeconfig}`, ...args.slice(1)], {
      env: env(),
    });
  const printed = async (done: Promise<Printed>): Promise<string> => {
    const { code, stdout, stderr } = await done;
    assert.equal(code, 0, stderr);
    return stdout.toString();
  };

  it('probes, judges and stands in for ffprobe', async () => {
    assert.match(await printed(probeyard('probe', film)), /^0 +video +h264, /m);
    const judged = await probeyard('check', film, '--policy', 'shared/web-mp4', '-o', 'junit');
    assert.ok([0, 1].includes(judged.code!), judged.stderr);
    assert.match(judged.stdout.toString(), /<property name="judged-by" value="shared\/web-mp4 revision \d+"\/>/);
    const flags = ['-v', 'error', '-of', 'csv', '-show_entries', 'format=filename'];
    assert.equal(await printed(probeyard('ffprobe', ...flags, film)), `format,${film}\n`);
    assert.match(await printed(probeyard('mediainfo', '--Inform=General;%Format%', film)), /^MPEG-4$/m);
  });

  it('kubectl probeyard probe: makes a job, prints its result, and reads it again', async () => {
    const done = await plugin('probe', film);
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout.toString(), /^0 +video +h264, /m);
    const [, name] = /^(probe-[0-9a-f]{8}): Completed/m.exec(done.stderr) ?? assert.fail(done.stderr);
    const again = JSON.parse(await printed(plugin('result', `pj/${name}`, '-o', 'json')));
    assert.equal(again.probe_report.response.codec.name, 'h264');
    assert.match(await printed(plugin('explain', name!)), new RegExp(`^${name} completed after `));
    await c.kubectl('-n', NAMESPACE, 'delete', 'probejob', name!);
  });

  it('kubectl probeyard tools, pools and top: what the cluster has', async () => {
    assert.match(await printed(plugin('tools')), /^ffprobe +9\.0 +latest +ready +ffprobe version /m);
    assert.match(await printed(plugin('pools')), /^\S+ +\S*file.* +Serving/m);
    assert.match(await printed(plugin('top')), /^\d+ jobs? running, /m);
  });

  it('kubectl probeyard upgrade: what would change', async () => {
    const report = JSON.parse(await printed(plugin('upgrade', 'ffprobe', '4.4', '9.0', film, '-o', 'json')));
    assert.equal(report.summary.comparisons, 1);
    assert.ok(report.fields.length > 0);
  });

  it('kubectl probeyard support-bundle: has logs of all parts and no token', async () => {
    const archive = join(folder, 'bundle.tar.gz');
    assert.equal((await printed(plugin('support-bundle', '-f', archive))).trim(), archive);
    const listed = await printed(execute(['tar', '-tzf', archive]));
    for (const part of ['api', 'controller', 'nats'])
      assert.match(listed, new RegExp(`^logs/${NAMESPACE}/\\S*${part}\\S*\\.log$`, 'm'));
    const whole = await printed(execute(['tar', '-xzOf', archive]));
    assert.ok(!whole.includes(c.token), 'the token is in the bundle');
  });

  it('Ctrl-C deletes the job of kubectl probeyard probe', async () => {
    const origin = await c.origin(() => new Promise<void>(() => {}));
    const child = spawn(kubectlPlugin, ['probe', `--kubeconfig=${c.kubeconfig}`, `${origin.url}/a.mp4`], {
      env: env(),
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const closed = once(child, 'close');
    await eventually('the source is read', 60, () => origin.requests.length > 0);
    child.kill('SIGINT');
    assert.deepEqual(await closed, [130, null]);
    const left = await c.kubectl('-n', NAMESPACE, 'get', 'probejobs', '-o', 'jsonpath={..spec.source.url}');
    assert.ok(!left.includes(origin.url), left);
  });
});
