import assert from 'node:assert/strict';
import { loadConfig } from '../../src/base/config.ts';
import { BACKUPS } from './everything.ts';
import { type Container, container, environmentOf, only, podsOf, refusal, render } from './render.ts';

describe('chart: backups', function () {
  this.timeout(60_000);
  const CLAIM = { backup: { enabled: true, recipients: BACKUPS.backup.recipients } };
  const podOf = (values: object, owner: string) => podsOf(render(values)).find((one) => one.owner.startsWith(owner))!;

  it('are off by default', () => {
    assert.deepEqual(
      render().filter(({ metadata }) => /backup|erasures|restore/.test(metadata.name)),
      [],
    );
  });

  for (const [name, role, what] of [
    ['backup', 'backup', 'all'],
    ['erasures', 'backup', 'erasures'],
    ['check', 'backup', 'check'],
    ['restore', 'restore', undefined],
    ['setup', 'setup', undefined],
    ['migrate', 'migrate', undefined],
  ] as const)
    it(`start as ${name} with the settings of a bucket`, () => {
      const one = container(render(BACKUPS), name);
      assert.deepEqual(one.args, [role]);
      const config = loadConfig(role, environmentOf(one)) as Record<string, unknown>;
      assert.equal(config['backupWhat'], what);
      if (role === 'backup') assert.deepEqual(config['backupRecipients'], BACKUPS.backup.recipients);
      else assert.equal(config['restoreName'], BACKUPS.restore.name);
      if (name === 'migrate') return;
      assert.equal(config['backupS3Endpoint'], 'https://minio.example:9000');
      const files = Object.entries(config).filter(([key, value]) => key.endsWith('File') && value !== '');
      for (const [key, file] of files) {
        const mounted = (one as Container).volumeMounts!.some(({ mountPath }) =>
          String(file).startsWith(`${mountPath}/`),
        );
        assert.ok(mounted || key.startsWith('postgres') || key.startsWith('admin'), `${key}: ${String(file)}`);
      }
    });

  it('on a claim: it is created, and stays after an uninstall', () => {
    const claim = only(render(CLAIM), 'PersistentVolumeClaim', 'probeyard-backups');
    assert.equal(claim.metadata.annotations?.['helm.sh/resource-policy'], 'keep');
    const { spec } = podOf(CLAIM, 'CronJob/probeyard-backup');
    assert.ok(JSON.stringify(spec).includes('"claimName":"probeyard-backups"'));
    assert.equal(environmentOf(container(render(CLAIM), 'backup'))['PY_BACKUP_FOLDER'], '/backups');
  });

  it("on an operator's own claim: none is created", () => {
    const values = { backup: { ...CLAIM.backup, claim: { existingClaim: 'mine' } } };
    assert.deepEqual(
      render(values).filter(({ kind }) => kind === 'PersistentVolumeClaim'),
      [],
    );
    assert.ok(JSON.stringify(podOf(values, 'CronJob/probeyard-backup').spec).includes('"claimName":"mine"'));
  });

  it('mount every key, and only the restore the key of a backup', () => {
    const secrets = (owner: string): string[] => {
      const volumes = podOf(BACKUPS, owner).spec['volumes'] as {
        secret?: { secretName: string };
        projected?: { sources: { secret: { name: string } }[] };
      }[];
      const named = volumes.flatMap(({ secret, projected }) => [
        ...(secret ? [secret.secretName] : []),
        ...(projected?.sources.map((source) => source.secret.name) ?? []),
      ]);
      return [...new Set(named)].sort();
    };
    const keys = ['admin', 'box', 'nats-auth', 'nats-tls', 'postgres', 'seal-private', 'seal-public'].map(
      (one) => `probeyard-${one}`,
    );
    assert.deepEqual(secrets('CronJob/probeyard-backup'), ['bucket', ...keys]);
    assert.deepEqual(secrets('Job/probeyard-restore'), ['bucket', ...keys, 'restore']);
    assert.deepEqual(secrets('Job/probeyard-setup'), ['bucket', 'restore']);
  });

  it('reach Postgres and the bucket, and nothing reaches them', () => {
    interface Policy {
      spec: { ingress?: unknown; egress: { ports: { port: number }[]; to?: unknown }[] };
    }
    for (const name of ['probeyard-backup', 'probeyard-restore']) {
      const { spec } = only(render(BACKUPS), 'NetworkPolicy', name) as unknown as Policy;
      assert.equal(spec.ingress, undefined);
      assert.deepEqual(
        spec.egress.flatMap(({ ports }) => ports.map(({ port }) => port)),
        [53, 53, 5432, 9000],
      );
    }
    const clients = (values: object) =>
      JSON.stringify(only(render(values), 'NetworkPolicy', 'probeyard-postgres')['spec'].ingress);
    for (const one of ['backup', 'restore']) assert.ok(clients(BACKUPS).includes(`component":"${one}"`), one);
    assert.ok(!clients({}).includes('backup'));
  });

  it('another image is another restore job, because a job cannot be changed', () => {
    const name = (tag: string) => podOf({ ...BACKUPS, image: { tag } }, 'Job/probeyard-restore-').owner;
    assert.equal(name('1'), name('1'));
    assert.notEqual(name('1'), name('2'));
  });

  for (const [title, values, text] of [
    ['without a public key', { backup: { enabled: true } }, /backup\.recipients: required/],
    [
      'with something else as a public key',
      { backup: { enabled: true, recipients: ['AGE-SECRET-KEY-1X'] } },
      /recipients/,
    ],
    [
      'to a bucket and a claim at once',
      { backup: { ...BACKUPS.backup, claim: { existingClaim: 'mine' } } },
      /s3\.bucket or claim\.existingClaim, not both/,
    ],
    [
      'to a bucket without its keys',
      { backup: { ...CLAIM.backup, s3: { bucket: 'backups' } } },
      /existingSecret are required/,
    ],
    ['restored without the key', { restore: { name: 'x.age' } }, /restore\.existingSecret: required/],
    ['restored from another folder', { restore: { name: '../x', existingSecret: 'k' } }, /restore/],
  ] as const)
    it(`refused: ${title}`, () => assert.match(refusal(values), text));
});
