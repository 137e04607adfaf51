/** The plugin of kubectl, with the real kubectl, on a real API server with real resources. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EVENTS, PROBE_BATCHES, PROBE_JOBS, PROBE_POOLS } from '../../src/platform/kube/client.ts';
import { startCluster, type Cluster } from '../controller/cluster_parts.ts';
import { until } from '../until.ts';
import { execute, type Printed } from './rig.ts';
import { standInsOfCheckout } from './stand_in.ts';

const TOKEN = 'Zz9'.repeat(22).slice(0, 64);

describe('kubectl probeyard', function () {
  this.timeout(180_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-plugin-'));
  let cluster: Cluster;
  before(async function () {
    if (spawnSync('kubectl', ['version', '--client'], { timeout: 30_000 }).status !== 0)
      throw new Error('no kubectl in PATH: make test-unit builds it');
    cluster = await startCluster({ runners: { boot: false } });
  });
  after(async () => {
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const pluginIn = (namespace: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Printed> =>
    execute(
      [
        join(standInsOfCheckout(folder), 'kubectl-probeyard'),
        args[0]!,
        `--kubeconfig=${cluster.servers.api.kubeconfig}`,
        `--namespace=${namespace}`,
        ...args.slice(1),
      ],
      { env: { HOME: folder, ...env } },
    );
  const plugin = (...args: string[]): Promise<Printed> => pluginIn(cluster.namespace, args);
  const printed = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await plugin(...args);
    assert.equal(code, 0, stderr);
    return stdout.toString();
  };

  it('tools and pools: what the resources say', async () => {
    assert.match(await printed('tools'), /^ffprobe +7\.0 +latest +ready/m);
    assert.match(await printed('pools'), /^short +file +0 +0 +0 +2\/10 +new/m);
    assert.equal(JSON.parse(await printed('tools', '-o', 'json')).length, 2);
    const shown = (type: string, status: string, message: string) => ({
      type,
      status,
      message,
      reason: 'Any',
      lastTransitionTime: new Date().toISOString(),
    });
    const conditions = [
      shown('Ready', 'False', '0 of 2'),
      shown('NetworkEnforced', 'False', 'reached'),
      shown('Overridden', 'False', 'as in the chart'),
      shown('Shadowed', 'True', 'no job gets here'),
    ];
    await cluster.kube.mergePatchStatus(PROBE_POOLS, 'short', { conditions });
    assert.match(await printed('pools'), /0 of 2; without NetworkEnforced; no job gets here *$/m);
  });

  it('explain: a job that no controller takes in, and one that waits for a runner', async () => {
    const { id } = await cluster.submit();
    await until(
      'it is old enough',
      async () => /was not taken in by any controller/.test(await printed('explain', `pj/${id}`)),
      60_000,
    );
    await cluster.controller();
    const waits = async () => /^\S+ waits because no runner is free for it: /.test(await printed('explain', id));
    await until('it waits for a runner', waits, 60_000);
    const facts = await printed('explain', id);
    assert.match(facts, /^pool short +0 ready, 0 busy/m);
    assert.match(facts, /^ffprobe 7\.0 +available$/m);
    assert.match(await printed('top'), /^0 jobs running, waiting: 1 NoRunner$/m);
  });

  it('explain: a job of a tenant, with the pool and the tools of the release', async () => {
    const namespace = await cluster.servers.api.namespace('team');
    const source = { url: 'https://media.example.org/a.mp4' };
    const spec = { kind: 'file', source, createdBy: 'alice', tools: [{ name: 'ffprobe', version: '7.0' }] } as const;
    await cluster.kube.create(PROBE_JOBS, {
      metadata: { name: 'film', namespace },
      spec: { ...spec, tools: [...spec.tools] },
    });
    const args = ['explain', 'film', `--release-namespace=${cluster.namespace}`];
    const facts = (await pluginIn(namespace, args)).stdout.toString();
    for (const line of [
      /^token +that of its namespace$/m,
      /^creator +alice$/m,
      /^pool short /m,
      /^ffprobe 7\.0 +available$/m,
    ])
      assert.match(facts, line);
  });

  it('probe: names the creator where the cluster asks for it, and reads the result at PROBEYARD_URL', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    // As the API server of a cluster without MutatingAdmissionPolicy answers.
    const refusal = "echo 'spec.createdBy: must be your user name' >&2; exit 1";
    const job = {
      metadata: { name: 'x' },
      spec: {},
      status: {
        completedAt: 'x',
        resultPath: '/v1/probe/1',
        conditions: [{ type: 'Succeeded', status: 'True', reason: 'Completed' }],
      },
    };
    const script = `#!/bin/sh
case "$*" in
  *create*) cat > ${bin}/sent; grep -q '"createdBy":"alice"' ${bin}/sent || { ${refusal}; } ;;
  *whoami*) printf alice ;;
  *services*) echo '{"items":[]}' ;;
  *probejob*) echo '${JSON.stringify(job)}' ;;
esac\n`;
    writeFileSync(join(bin, 'kubectl'), script, { mode: 0o755 });
    const env = { PATH: `${bin}:${process.env['PATH']}`, PROBEYARD_URL: 'http://127.0.0.1:1', PROBEYARD_TOKEN: TOKEN };
    const { code, stderr } = await pluginIn('team-a', ['probe', 'https://media.example.com/a'], env);
    assert.match(stderr, /probe-\w+: Completed/);
    assert.match(stderr, /127\.0\.0\.1:1/);
    assert.equal(code, 3);
  });

  it('says of what is not there that it is not there', async () => {
    const { code, stderr } = await plugin('explain', 'pj/nothing');
    assert.equal(code, 3);
    assert.match(stderr, /^probeyard: kubectl: Error from server \(NotFound\): .*nothing/);
    assert.match((await plugin('explain', '../secrets')).stderr, /name of a ProbeJob/);
    assert.match((await plugin('result', 'x'.repeat(10))).stderr, /NotFound/);
  });

  it('probe: refuses an address that must not stand in a resource', async () => {
    for (const address of ['https://user:hunter22@media.example.com/a', 'https://media.example.com/a?token=hunter22']) {
      const { code, stderr } = await plugin('probe', address);
      assert.equal(code, 2);
      assert.match(stderr, /would stand in the resource.*\n.*--secret NAME/);
      assert.ok(!stderr.includes('hunter22'));
    }
  });

  it('support-bundle: has resources and Events, no credential, and is readable by its owner alone', async () => {
    const { kube, namespace } = cluster;
    await kube.create(EVENTS, {
      metadata: { name: 'leaky', namespace },
      involvedObject: { kind: 'ProbeJob', name: 'x', namespace },
      reason: 'Leaky',
      message: `read https://u:hunter22@media.example.com/a?sig=s3cr3t with Bearer ${TOKEN}`,
      type: 'Warning',
    } as never);
    const items = [{ url: 'https://media.example.com/private.mp4' }];
    await kube.create(PROBE_BATCHES, { metadata: { name: 'bundled', namespace }, spec: { request: { items } } });
    const archive = join(folder, 'bundle.tar.gz');
    assert.equal((await printed('support-bundle', '-f', archive)).trim(), archive);
    assert.equal(statSync(archive).mode & 0o777, 0o600);
    const { status, stderr } = spawnSync('tar', ['-xzf', archive, '-C', folder], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    const names = readdirSync(folder);
    const kinds = ['probetools', 'probepools', 'probepolicies', 'probejobs', 'probebatches', 'probesources', 'events'];
    for (const name of [...kinds, 'version']) assert.ok(names.includes(`${name}.json`), name);
    const batches = readFileSync(join(folder, 'probebatches.json'), 'utf8');
    assert.ok(batches.includes('"bundled"') && batches.includes('"items": 1') && !batches.includes('private.mp4'));
    const events = readFileSync(join(folder, 'events.json'), 'utf8');
    assert.match(events, /read https:\/\/media\.example\.com\/a\?sig=REDACTED with Bearer REDACTED/);
    const jobs = readFileSync(join(folder, 'probejobs.json'), 'utf8');
    assert.ok(jobs.includes('media.example.org') && !jobs.includes('"sealed"') && !/eyJ/.test(jobs));
    assert.match((await plugin('support-bundle', '-f', archive)).stderr, /exists already/);
  });
});
