/**
 * The drill on a cluster: a release is backed up, removed with its database and its keys, and installed again from the
 * backup. Tried with a second release beside that of the other tests.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileKeyFor, fileKeyText, newKeyPair, readOpener } from '../../src/service/backup/age.ts';
import { of } from '../../src/service/backup/bytes.ts';
import { NAMESPACES, isKubeError } from '../../src/platform/kube/client.ts';
import { run } from '../node/command.ts';
import { localDir, NODE } from '../node/layout.ts';
import { cluster, eventually, NAMESPACE, PSQL, type Cluster } from './fixture.ts';
import { chart } from './helm.ts';

const RELEASE = 'drill';
const OWN = 'backup-drill';

const pair = await newKeyPair();

describe('a release is restored from its backup', function () {
  this.timeout(900_000);
  let c: Cluster;
  let folder: string;
  let values: string;
  const helm = (...args: string[]): Promise<string> =>
    run(join(localDir, 'bin', 'helm'), [...args, '--kubeconfig', c.kubeconfig, '--namespace', OWN], {
      timeoutMs: 300_000,
    });
  const kubectl = (...args: string[]): Promise<string> => c.kubectl('-n', OWN, ...args);
  const remove = (namespace: string): Promise<void> =>
    c.kube.delete(NAMESPACES, namespace).catch((error: unknown) => {
      if (!isKubeError(error, 'not-found')) throw error;
    });
  const install = (...settings: string[]): Promise<string> =>
    helm(
      'install',
      RELEASE,
      chart,
      '-f',
      values,
      '--set',
      [
        `runners.namespace=${OWN}-runners`,
        'crds.enabled=false,api.service.type=ClusterIP,api.service.nodePort=null',
        'api.replicas=1,controller.replicas=1',
        `backup.enabled=true,backup.recipients[0]=${pair.recipient},backup.claim.size=1Gi`,
        ...settings,
      ].join(','),
      '--wait',
      '--timeout',
      '4m',
    );
  const sql = async (query: string): Promise<string> =>
    (await kubectl('exec', `statefulset/${RELEASE}-probeyard-postgres`, '--', ...PSQL, query)).trim();
  const ACCOUNTS = `select md5(string_agg(t::text, '|' order by id)) from tokens t`;
  const adminToken = (): Promise<string> => kubectl('get', 'secret', 'probeyard-admin', '-o', 'jsonpath={.data.token}');

  before(async () => {
    c = await cluster();
    folder = await mkdtemp(join(tmpdir(), 'probeyard-drill-'));
    values = join(folder, 'values.json');
    await writeFile(
      values,
      await run(join(localDir, 'bin', 'helm'), [
        'get',
        'values',
        NAMESPACE,
        '--namespace',
        NAMESPACE,
        '--output',
        'json',
        '--kubeconfig',
        c.kubeconfig,
      ]),
    );
    await c.kube.create(NAMESPACES, { metadata: { name: OWN } });
  });
  after(async () => {
    await helm('uninstall', RELEASE, '--ignore-not-found').catch(() => {});
    await Promise.all([OWN, `${OWN}-runners`].map(remove));
    await rm(folder, { recursive: true, force: true });
    await c.close();
  });

  async function jobDone(name: string): Promise<void> {
    await eventually(`the job ${name} has completed`, 180, async () => {
      const state = await kubectl('get', 'job', name, '-o', 'jsonpath={.status.succeeded} {.status.failed}');
      if (/ [1-9]/.test(state)) assert.fail(await kubectl('logs', `job/${name}`, '--tail=20'));
      return state.startsWith('1');
    });
  }

  it('accounts, tokens and keys are the same, and the administrator still signs in', async () => {
    await install();
    await sql(`insert into users (email, role, status) values ('kept@example.org', 'user', 'active')`);
    const [accounts, token, box] = [await sql(ACCOUNTS), await adminToken(), await boxOf()];
    await kubectl('create', 'job', `--from=cronjob/${RELEASE}-probeyard-backup`, 'backup-now');
    await jobDone('backup-now');

    const [file = ''] = globSync(join(NODE.stateDir, 'volumes', '*', 'probeyard-*.age'))
      .sort()
      .toReversed();
    const name = file.split('/').at(-1)!;
    const key = fileKeyText(await fileKeyFor(of(readFileSync(file).subarray(0, 1_000)), readOpener(pair.identity)));
    await helm('uninstall', RELEASE, '--wait', '--timeout', '3m');
    await kubectl('delete', 'secret', '--all');
    await kubectl('delete', 'persistentvolumeclaim', `data-${RELEASE}-probeyard-postgres-0`);
    await kubectl('delete', 'persistentvolumeclaim', `data-${RELEASE}-probeyard-nats-0`);

    await kubectl('create', 'secret', 'generic', 'restore-key', `--from-literal=key=${key}`);
    await install(`restore.name=${name},restore.existingSecret=restore-key`);
    assert.equal(await sql(ACCOUNTS), accounts);
    assert.equal(await sql(`select count(*) from users where email = 'kept@example.org'`), '1');
    assert.equal(await adminToken(), token);
    assert.equal(await boxOf(), box);
  });

  const boxOf = (): Promise<string> => kubectl('get', 'secret', 'probeyard-box', '-o', 'jsonpath={.data}');
});
