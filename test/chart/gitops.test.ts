/** What GitOps needs of the chart: the examples render, twice the same, and Secrets that were made outside fit. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { answer } from '../../src/service/setup/init.ts';
import { SECRET_NAMES } from '../../src/service/setup/secrets.ts';
import { CHART, isHook, only, podsOf, render, type Rendered } from './render.ts';

const PAGES = join(CHART, '../../docs/operating/gitops');
const example = (name: string): Rendered[] =>
  parseAllDocuments(readFileSync(join(PAGES, name), 'utf8')).map((document) => document.toJSON() as Rendered);
const valuesOf = {
  'argocd.yaml': example('argocd.yaml')[0]!['spec'].source.helm.valuesObject as object,
  'flux.yaml': example('flux.yaml')[1]!['spec'].values as object,
};

describe('chart: GitOps', function () {
  this.timeout(60_000);

  for (const [name, values] of Object.entries(valuesOf)) {
    it(`${name}: its values render, and twice the same`, () => {
      const first = render(values);
      // Another form of the same values is another run of helm.
      assert.deepEqual(render({ ...values, tests: { enabled: true } }), first);
      assert.ok(first.length > 20);
    });
  }

  it('an autoscaled API has no number of replicas that would differ', () => {
    const objects = render(valuesOf['argocd.yaml']);
    assert.equal(only(objects, 'Deployment', 'probeyard-api')['spec'].replicas, undefined);
    assert.deepEqual(only(objects, 'HorizontalPodAutoscaler', 'probeyard-api')['spec'].scaleTargetRef, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      name: 'probeyard-api',
    });
  });

  it('the setup job finds its account, rights and policy: they are hooks of one wave before it', () => {
    const setup = render({}).filter((object) => isHook(object) && object.metadata.name === 'probeyard-setup');
    const waves = Object.fromEntries(
      setup.map(({ kind, metadata }) => [kind, metadata.annotations?.['helm.sh/hook-weight']]),
    );
    assert.deepEqual(waves, { ServiceAccount: '-10', Role: '-10', RoleBinding: '-10', NetworkPolicy: '-10', Job: '0' });
    for (const { metadata } of setup) assert.equal(metadata.annotations?.['helm.sh/hook'], 'pre-install,pre-upgrade');
  });

  it('the migration is a plain job, and another image is another job: none is ever changed', () => {
    const migration = (values: object) =>
      render(values).find(({ kind, metadata }) => kind === 'Job' && metadata.name.includes('-migrate-'))!;
    const [one, same, other] = [
      migration({}),
      migration({ api: { replicas: 3 } }),
      migration({ image: { tag: 'next' } }),
    ];
    assert.deepEqual(one, same);
    assert.notEqual(one.metadata.name, other.metadata.name);
    assert.equal(isHook(one), false);
    assert.equal(one['spec'].ttlSecondsAfterFinished, undefined, 'a job that goes would be made again');
  });

  it('a parent chart may have a condition', () => {
    assert.deepEqual(render({ enabled: true }), render());
  });

  it('no fixed user remains where a platform gives its own', () => {
    const none = { runAsUser: null, runAsGroup: null, fsGroup: null };
    for (const { owner, spec } of podsOf(render({ podSecurityContext: none }))) {
      const { runAsUser, runAsGroup, fsGroup, runAsNonRoot } = spec['securityContext'] as Record<string, unknown>;
      assert.deepEqual([runAsUser, runAsGroup, fsGroup, runAsNonRoot], [undefined, undefined, undefined, true], owner);
    }
  });

  it('additional volumes, names and objects are where the values say', () => {
    const extra = (name: string) => ({
      extraVolumes: [{ name, emptyDir: {} }],
      extraVolumeMounts: [{ name, mountPath: `/${name}` }],
    });
    const objects = render({
      api: extra('of-api'),
      controller: extra('of-controller'),
      hostAliases: [{ ip: '10.0.0.1', hostnames: ['origin.example'] }],
      extraObjects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-mine' } }],
    });
    for (const part of ['api', 'controller']) {
      const { volumes, containers, hostAliases } = only(objects, 'Deployment', `probeyard-${part}`)['spec'].template
        .spec;
      assert.deepEqual(volumes.at(-1), { name: `of-${part}`, emptyDir: {} });
      assert.deepEqual(containers[0].volumeMounts.at(-1), { name: `of-${part}`, mountPath: `/of-${part}` });
      assert.equal(hostAliases[0].hostnames[0], 'origin.example');
    }
    assert.ok(only(objects, 'ConfigMap', 'probeyard-mine'));
  });

  it('service accounts, rollouts, DNS and further containers are as the values say', () => {
    const settings = (name: string) => ({
      serviceAccount: { create: false, name },
      strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
      dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
      extraContainers: [{ name: 'beside', image: 'x' }],
    });
    const objects = render({
      api: { ...settings('mine-api'), service: { ipFamilies: ['IPv6', 'IPv4'], ipFamilyPolicy: 'PreferDualStack' } },
      controller: settings('mine-controller'),
      containerSecurityContext: { readOnlyRootFilesystem: false },
    });
    for (const part of ['api', 'controller']) {
      const { strategy, template } = only(objects, 'Deployment', `probeyard-${part}`)['spec'];
      const { serviceAccountName, dnsConfig, containers } = template.spec;
      assert.equal(serviceAccountName, `mine-${part}`);
      assert.deepEqual(strategy, { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } });
      assert.deepEqual(dnsConfig, { options: [{ name: 'ndots', value: '1' }] });
      assert.deepEqual(
        containers.map(({ name }: { name: string }) => name),
        [part, 'beside'],
      );
      assert.deepEqual(containers[0].securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: false,
        runAsNonRoot: true,
        capabilities: { drop: ['ALL'] },
      });
      const { subjects } = objects.find(
        ({ kind, metadata }) => kind === 'RoleBinding' && metadata.name === `mine-${part}` && !metadata.namespace,
      )!;
      assert.equal(subjects[0].name, `mine-${part}`);
    }
    const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata.name);
    assert.deepEqual(
      accounts.filter((name) => /-(api|controller)$/.test(name)),
      [],
    );
    const { ipFamilies, ipFamilyPolicy } = only(objects, 'Service', 'probeyard-api')['spec'];
    assert.deepEqual([ipFamilies, ipFamilyPolicy], [['IPv6', 'IPv4'], 'PreferDualStack']);
    // Who may set what is decided by these names.
    const policy = JSON.stringify(objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy'));
    assert.match(policy, /:mine-api'/);
    assert.match(policy, /:mine-controller'/);
  });

  it("limits of the runners' namespace are created there", () => {
    const objects = render({
      runners: {
        resourceQuota: { 'limits.memory': '40Gi', pods: 30 },
        limitRange: [{ type: 'Container', max: { memory: '8Gi' } }],
      },
    });
    assert.deepEqual(only(objects, 'ResourceQuota', 'probeyard', 'probeyard-runners')['spec'].hard, {
      'limits.memory': '40Gi',
      pods: 30,
    });
    assert.equal(only(objects, 'LimitRange', 'probeyard', 'probeyard-runners')['spec'].limits[0].max.memory, '8Gi');
    assert.deepEqual(
      render().filter(({ kind }) => ['ResourceQuota', 'LimitRange'].includes(kind)),
      [],
    );
  });

  for (const [what, jobs, most] of [
    ['by default half as many again as may be queued and kept', {}, '22500'],
    ['half as many again as may be queued and kept', { maxQueued: 100, finished: { max: 20 } }, '180'],
    ['as many as the values say', { quota: { max: 5_000_000 } }, '5000000'],
  ] as const)
    it(`the quota of ProbeJobs: ${what}`, () => {
      const objects = render({ jobs: { ...jobs, quota: { enabled: true, ...('quota' in jobs ? jobs.quota : {}) } } });
      assert.deepEqual(only(objects, 'ResourceQuota', 'probeyard-jobs')['spec'].hard, {
        'count/probebatches.probeyard.dev': '500',
        'count/probejobs.probeyard.dev': most,
        'count/probesources.probeyard.dev': '100',
      });
    });
});

describe('secrets-init', function () {
  this.timeout(60_000);
  const secretsOf = async (...args: string[]): Promise<Record<string, Record<string, string>>> =>
    Object.fromEntries(
      parseAllDocuments(await answer(args)).map((document) => {
        const { metadata, stringData } = document.toJSON() as Rendered;
        return [metadata.name, stringData as Record<string, string>];
      }),
    );

  /** Every key of a Secret that a pod needs. */
  function needed(values: object): Set<string> {
    const found = new Set<string>();
    const visit = (node: unknown): void => {
      if (typeof node !== 'object' || node === null) return;
      const { secretKeyRef, secret } = node as { secretKeyRef?: Ref; secret?: Ref };
      if (secretKeyRef && !secretKeyRef.optional) found.add(`${secretKeyRef.name}/${secretKeyRef.key}`);
      if (secret && !secret.optional)
        for (const { key } of secret.items ?? []) found.add(`${secret.name ?? secret.secretName}/${key}`);
      Object.values(node).forEach(visit);
    };
    interface Ref {
      name?: string;
      secretName?: string;
      key?: string;
      optional?: boolean;
      items?: { key: string }[];
    }
    visit(render(values));
    return found;
  }

  it('makes every Secret and key that the pods of a chart without setup mount', async () => {
    const made = await secretsOf();
    const wanted = [...needed({ setup: { enabled: false } })].filter((one) => one.startsWith('probeyard-'));
    assert.ok(wanted.length > 15);
    const missing = wanted.filter((one) => {
      const [name = '', key = ''] = one.split('/');
      return made[name]?.[key] === undefined;
    });
    assert.deepEqual(missing, []);
  });

  it("has the chart's own names", () => {
    const { secrets } = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as { secrets: object };
    assert.deepEqual(SECRET_NAMES, secrets);
  });

  it('makes certificates and addresses for the names of the release', async () => {
    const made = await secretsOf('--name', 'media-probeyard', '--namespace', 'media');
    const { X509Certificate } = await import('node:crypto');
    const certificate = new X509Certificate(made['probeyard-nats-tls']!['tls.crt']!);
    assert.ok(certificate.checkHost('media-probeyard-nats.media.svc'));
    assert.equal(new URL(made['probeyard-postgres']!['url']!).hostname, 'media-probeyard-postgres.media.svc');
  });

  it('leaves out the Secrets of servers that are not installed', async () => {
    const names = Object.keys(await secretsOf('--external-nats', '--external-postgres'));
    assert.deepEqual(
      names.filter((name) => /postgres|tls/.test(name)),
      [],
    );
    assert.ok(names.includes('probeyard-nats-auth'));
  });

  it('as JSON: one line for each Secret', async () => {
    const lines = (await answer(['--format', 'json'])).trim().split('\n');
    const names = lines.map((line) => (JSON.parse(line) as { name: string; data: object }).name);
    assert.deepEqual(names.toSorted(), Object.values(SECRET_NAMES).toSorted());
  });

  it('as objects of External Secrets: with places, and without any secret', async () => {
    const text = await answer(['--format', 'external-secrets', '--store', 'aws', '--path', 'team/probeyard']);
    const objects = parseAllDocuments(text).map((document) => document.toJSON() as Rendered);
    assert.equal(objects.length, Object.keys(SECRET_NAMES).length);
    assert.deepEqual(objects[0]!['spec'].dataFrom, [{ extract: { key: 'team/probeyard/probeyard-nats-tls' } }]);
    assert.doesNotMatch(text, /PRIVATE KEY|stringData|"d"/);
  });

  for (const [args, text] of [
    [['--format', 'xml'], /--format must be one of/],
    [['--name', 'A b'], /--name is not a name of Kubernetes/],
    [['--namespace', ''], /--namespace is not/],
    [['--admin-email', 'nobody'], /not an e-mail address/],
    [['--what'], /usage: main\.ts secrets-init/],
  ] as const)
    it(`refuses ${args.join(' ')}`, () => assert.rejects(answer(args), text));
});
