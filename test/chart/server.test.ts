/**
 * The chart on a real API server: the server accepts what it renders, and the admission policy applies. Without nodes,
 * so pods stay unscheduled.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { stringify } from 'yaml';
import { API_VERSION } from '../../src/platform/kube/resource.ts';
import { testApiServer, type TestApiServer } from '../kube/apiserver.ts';
import { EVERYTHING } from './everything.ts';
import { IMAGE_VOLUMES } from '../node/versions.ts';
import { until } from '../until.ts';
import { CHART, helm } from './render.ts';

describe('chart on an API server', function () {
  this.timeout(120_000);
  let server: TestApiServer;
  let namespace: string;
  let runners: string;
  let delivery: 'imageVolume' | 'bundled';
  // The CRDs of this server belong to the fixture.
  const values = (more: { runners?: object; tools?: object } = {}) => ({
    ...more,
    tools: { ...more.tools, delivery },
    crds: { enabled: false },
    runners: { ...more.runners, namespace: runners },
  });
  const run = (verb: 'install' | 'upgrade' | 'rollback' | 'uninstall', more: object = {}, flags: string[] = []) => {
    const chart = verb === 'install' || verb === 'upgrade' ? [CHART] : [];
    const result = helm(
      [verb, 'py', ...chart, '--namespace', namespace, '--kubeconfig', server.kubeconfig, '--no-hooks', ...flags],
      values(more),
    );
    assert.equal(result.code, 0, result.stderr);
    // Warnings of the server: deprecated APIs, unknown fields, Pod Security.
    assert.doesNotMatch(result.stderr, /warn|unknown field|deprecated/i);
    return result.stdout;
  };

  before(async () => {
    server = await testApiServer({ alone: true });
    namespace = await server.namespace('chart');
    runners = `${namespace}-runners`;
    const { minor } = JSON.parse(kubectl(['get', '--raw', '/version']).stdout) as { minor: string };
    delivery = Number(minor) < IMAGE_VOLUMES ? 'bundled' : 'imageVolume';
  });

  after(() => server.stop());

  const kubectl = (args: string[], input = '') =>
    spawnSync('kubectl', ['--kubeconfig', server.kubeconfig, '--namespace', namespace, ...args], {
      encoding: 'utf8',
      input,
      timeout: 30_000,
    });
  const createJob = (spec: object, as?: string, more: object = {}) =>
    kubectl(
      ['create', '-o', 'name', ...(as ? ['--as', as] : []), '-f', '-'],
      stringify({ apiVersion: API_VERSION, kind: 'ProbeJob', metadata: { generateName: 'job-' }, spec, ...more }),
    );

  it('is installed with everything on', () => {
    run('install', EVERYTHING);
  });

  it('is upgraded to its defaults, and again without a change', () => {
    run('upgrade');
    const before = kubectl([
      'get',
      'deployments,statefulsets',
      '-o',
      'jsonpath={.items[*].metadata.generation}',
    ]).stdout;
    run('upgrade');
    assert.equal(
      kubectl(['get', 'deployments,statefulsets', '-o', 'jsonpath={.items[*].metadata.generation}']).stdout,
      before,
    );
  });

  it('is rolled back to the release before, and upgraded again', () => {
    const shape = () =>
      kubectl([
        'get',
        'deployments,statefulsets,networkpolicies,roles,configmaps',
        '-o',
        'jsonpath={range .items[*]}{.kind}{.metadata.name}{.spec}{.rules}{.data}{end}',
      ]).stdout;
    const upgraded = shape();
    run('rollback', {}, ['1']);
    const back = shape();
    assert.notEqual(back, upgraded);
    run('rollback', {}, ['2']);
    assert.equal(shape(), upgraded);
    run('rollback', {}, ['1']);
    assert.equal(shape(), back);
    run('upgrade');
    assert.equal(shape(), upgraded);
  });

  describe('admission', () => {
    const sealed = { kind: 'file', source: { sealed: 'a.b.c.d.e', display: 'https://x/y' }, token: { id: 1, user: 1 } };
    const plain = { kind: 'file', source: { url: 'https://example.com/x.mp4' } };
    const digest = 'a'.repeat(64);
    const api = () => `system:serviceaccount:${namespace}:py-probeyard-api`;
    const leader = () => api().replace(/api$/, 'controller');
    const admitted = { status: { attempts: 1, admittedBy: { holder: 'c', epoch: 1, token: 1, account: 1 } } };
    const ofControllers = /only the controllers of Probeyard may write the status of a ProbeJob/;
    const refused = /only the API of Probeyard may set/;

    // A policy applies a moment after its creation, and one with a parameter refuses until that is read.
    before(async () => {
      const deadline = performance.now() + 60_000;
      while (!refused.test(createJob(sealed).stderr) || createJob(plain).status !== 0) {
        assert.ok(performance.now() < deadline, 'the policies never acted');
        await new Promise((resolve) => {
          setTimeout(resolve, 100);
        });
      }
    });

    for (const [title, spec, asApi, accepted] of [
      ['the API may create a sealed job of a token', sealed, true, true],
      ['no other account may create a sealed job', { kind: 'file', source: { sealed: 'a.b.c.d.e' } }, false, false],
      ['no other account may name a token', { ...plain, token: { id: 1, user: 1 } }, false, false],
      ['no other account may give a second source', { ...plain, other: { sealed: 'a.b.c.d.e' } }, false, false],
      ['any account may create a plain job', plain, false, true],
      [
        'the API may name a policy by its digest',
        { ...sealed, policy: { name: 'own', revision: 1, digest } },
        true,
        true,
      ],
      ['no other account may name a policy by its digest', { ...plain, policy: { name: 'own', digest } }, false, false],
      ['any account may name a shared policy', { ...plain, policy: { name: 'shared/web-mp4' } }, false, true],
    ] as const) {
      it(title, () => {
        const { status, stderr } = createJob(spec, asApi ? api() : undefined);
        assert.equal(status === 0, accepted, stderr);
        if (!accepted) assert.match(stderr, refused);
      });
    }

    it('a controller may create a sealed job with its admission, and change its status', () => {
      const made = createJob(sealed, leader(), admitted);
      assert.equal(made.status, 0, made.stderr);
      const change = '{"status":{"attempts":2}}';
      const as = ['--as', leader()];
      const { status, stderr } = kubectl(['patch', ...as, made.stdout.trim(), '--type=merge', '-p', change]);
      assert.equal(status, 0, stderr);
    });

    it('nobody else may create a job with a status, the API included', () => {
      for (const as of [undefined, api()])
        for (const more of [admitted, { status: {} }])
          assert.match(createJob(as ? sealed : plain, as, more).stderr, ofControllers);
    });

    // The API server drops it before a policy sees it.
    it('a status of null is none', () => {
      for (const as of [undefined, api(), leader()]) {
        const made = createJob(as ? sealed : plain, as, { status: null });
        assert.equal(made.status, 0, made.stderr);
        assert.equal(kubectl(['get', made.stdout.trim(), '-o', 'jsonpath={.status}']).stdout, '');
      }
    });

    it('nobody else may give a job a status, change it or take it away', () => {
      const [running, waiting] = [createJob(sealed, leader(), admitted), createJob(plain)];
      for (const [made, patch] of [
        [waiting, '{"status":{"attempts":1}}'],
        [waiting, '{"status":{}}'],
        [running, '{"status":{"attempts":2}}'],
        [running, '{"status":{"admittedBy":null}}'],
        [running, '{"status":null}'],
        [running, '{"status":null,"metadata":{"labels":{"seen":"yes"}}}'],
      ] as const)
        assert.match(kubectl(['patch', made.stdout.trim(), '--type=merge', '-p', patch]).stderr, ofControllers, patch);
      const nulled = '[{"op":"add","path":"/status","value":null}]';
      assert.match(kubectl(['patch', running.stdout.trim(), '--type=json', '-p', nulled]).stderr, ofControllers);
      for (const made of [waiting, running]) assert.equal(kubectl(['label', made.stdout.trim(), 'seen=yes']).status, 0);
    });

    it('an administrator may label a job of the API', () => {
      const name = createJob(sealed, api()).stdout.trim();
      assert.equal(kubectl(['label', name, 'seen=yes']).status, 0);
      assert.match(
        kubectl(['label', name, 'probeyard.dev/token=2']).stderr,
        /only the API of Probeyard may set the label probeyard\.dev\/token/,
      );
      assert.equal(kubectl(['delete', name]).status, 0);
    });

    it('the API cannot change jobs or read a Secret, and the controller cannot read a Secret', () => {
      const can = (as: string, ...what: string[]) => kubectl(['auth', 'can-i', '--as', as, ...what]).stdout.trim();
      const controller = api().replace(/api$/, 'controller');
      assert.equal(can(api(), 'create', 'probejobs.probeyard.dev'), 'yes');
      assert.equal(can(api(), 'list', 'probejobs.probeyard.dev'), 'yes', 'it counts them');
      assert.equal(can(api(), 'patch', 'probejobs.probeyard.dev'), 'no');
      assert.equal(can(api(), 'get', 'secrets'), 'no');
      assert.equal(can(controller, 'get', 'secrets'), 'no');
      assert.equal(can(controller, 'create', 'pods'), 'no');
      assert.equal(can(controller, 'create', 'pods', '--namespace', runners), 'yes');
      // The lease is watched by name, and no other lease is readable.
      assert.equal(
        kubectl(['get', 'leases', '--as', controller, '--field-selector', 'metadata.name=probeyard-controller']).status,
        0,
      );
      assert.match(kubectl(['get', 'leases', '--as', controller]).stderr, /forbidden/i);
      for (const account of ['probeyard-runner', 'probeyard-verify'])
        assert.equal(can(`system:serviceaccount:${runners}:${account}`, 'get', 'pods', '--namespace', runners), 'no');
    });
  });

  describe('in other namespaces', () => {
    const OBJECTS: [kind: string, spec: object][] = [
      ['ProbeJob', { kind: 'file', source: { url: 'https://example.com/x.mp4' } }],
      [
        'ProbeTool',
        { tool: 'ffprobe', version: '9.9', image: 'probeyard/tool-ffprobe:9.9', command: ['{root}/ffprobe'] },
      ],
      ['ProbePool', { serves: { kinds: ['file'] }, minReady: 0, maxPods: 1 }],
      ['ProbePolicy', { rules: [{ name: 'hello', world: 1 }] }],
    ];
    let other: string;
    const create = (kind: string, spec: object, where: string, as?: string) =>
      kubectl(
        ['create', '--dry-run=server', '-o', 'name', '--namespace', where, ...(as ? ['--as', as] : []), '-f', '-'],
        stringify({ apiVersion: 'probeyard.dev/v1alpha1', kind, metadata: { generateName: 'x-' }, spec }),
      );
    const second = (verb: 'install' | 'uninstall') => {
      const own = { crds: { enabled: false }, tools: { delivery }, runners: { namespace: `${other}-runners` } };
      const chart = verb === 'install' ? [CHART] : [];
      const { code, stderr } = helm(
        [verb, 'two', ...chart, '--namespace', other, '--kubeconfig', server.kubeconfig, '--no-hooks'],
        own,
      );
      assert.equal(code, 0, stderr);
    };
    const refused = /no Probeyard serves the namespace/;
    before(async () => {
      other = await server.namespace('other');
    });

    for (const [kind, spec] of OBJECTS)
      it(`a ${kind} is refused, and the message says where to create it`, async () => {
        const message = `no Probeyard serves the namespace ${other}; create a ${kind} in the namespace ${namespace}`;
        await until('it is refused', () => create(kind, spec, other).stderr.includes(message), 30_000);
        assert.equal(create(kind, spec, namespace).status, 0);
      });

    it('the accounts of a release of an older chart are served', () => {
      const [kind, spec] = OBJECTS[2]!;
      const role = `older-${other}`;
      const group = `--group=system:serviceaccounts:${other}`;
      kubectl(['create', 'clusterrole', role, '--verb=create', '--resource=probepools.probeyard.dev']);
      kubectl(['create', 'clusterrolebinding', role, `--clusterrole=${role}`, group]);
      const as = (name: string) => create(kind, spec, other, `system:serviceaccount:${other}:${name}`);
      assert.equal(as('mine-probeyard-controller').status, 0);
      assert.match(as('default').stderr, refused);
      assert.equal(kubectl(['delete', `clusterrole/${role}`, `clusterrolebinding/${role}`]).status, 0);
    });

    it('two releases serve a namespace each, and nothing of either is left behind', async () => {
      second('install');
      const [kind, spec] = OBJECTS[0]!;
      const third = await server.namespace('third');
      const names = () =>
        (create(kind, spec, third).stderr.match(/create a ProbeJob in the namespace \S+/g) ?? []).length;
      await until('the policies of both apply', () => names() > 0, 30_000);
      for (const where of [namespace, other])
        for (const [each, its] of OBJECTS) {
          const { status, stderr } = create(each, its, where);
          assert.equal(status, 0, `${each} in ${where}: ${stderr}`);
        }
      second('uninstall');
      await until('it is served no more', () => refused.test(create(kind, spec, other).stderr), 30_000);
      assert.equal(
        kubectl([
          'get',
          'validatingadmissionpolicies,validatingadmissionpolicybindings,clusterroles,clusterrolebindings',
          '-l',
          'app.kubernetes.io/instance=two',
          '-o',
          'name',
        ]).stdout,
        '',
      );
    });
  });

  describe('in the namespace of a tenant', () => {
    const SPEC = { kind: 'file', source: { url: 'https://example.com/x.mp4' } };
    const alice = 'alice@example.org';
    /** Has every right there. */
    const eve = 'eve@example.org';
    let team: string;
    const object = (kind: string, spec: object, more: object = {}) =>
      stringify({ apiVersion: API_VERSION, kind, metadata: { generateName: 'x-' }, spec, ...more });
    const create = (spec: object, as: string, { where = team, ...more }: { where?: string; status?: object } = {}) =>
      kubectl(
        ['create', '-o', 'jsonpath={.metadata.name} {.spec.createdBy}', '--namespace', where, '--as', as, '-f', '-'],
        object('ProbeJob', spec, more),
      );
    const named = (as: string, more: object = {}) => ({ ...SPEC, createdBy: as, ...more });
    const can = (as: string, where: string, verb: string, what: string) =>
      kubectl(['auth', 'can-i', '--as', as, '--namespace', where, verb, what]).stdout.trim();
    const controller = () => `system:serviceaccount:${namespace}:py-probeyard-controller`;

    before(async () => {
      team = await server.namespace('team');
      run('upgrade', { tenants: { namespaces: [{ name: team, account: 7 }] } });
      const bind = (...args: string[]) =>
        assert.equal(kubectl(['--namespace', team, 'create', ...args]).status, 0, args.join(' '));
      bind('rolebinding', 'alice', `--clusterrole=${namespace}-py-probeyard-submitter`, `--user=${alice}`);
      bind('role', 'all', '--verb=*', '--resource=*.*');
      bind('rolebinding', 'eve', '--role=all', `--user=${eve}`);
      await until('the policies apply', () => /spec\.createdBy/.test(create(named(eve), alice).stderr), 30_000);
      await until('it is served', () => create(named(alice), alice).status === 0, 30_000);
    });

    it('a job has its creator, and no other', () => {
      assert.match(create(named(alice), alice).stdout, / alice@example\.org$/);
      for (const as of [alice, eve])
        assert.match(
          create(named('bob@example.org'), as).stderr,
          new RegExp(`spec\\.createdBy: must be your user name, "${as}"`),
        );
    });

    it('it is written where the API server can do so, and must be given elsewhere', async () => {
      const written = kubectl(['get', '--raw', '/apis/admissionregistration.k8s.io/v1']).stdout;
      if (written.includes('mutatingadmissionpolicies'))
        await until('it is written', () => create(SPEC, alice).stdout.endsWith(` ${alice}`), 30_000);
      else assert.match(create(SPEC, alice).stderr, /spec\.createdBy: must be your user name, "alice@example\.org"/);
    });

    it('in the namespace of the release it may be left out, and is not forged either', () => {
      kubectl(['create', 'rolebinding', 'alice', '--role=py-probeyard-submitter', `--user=${alice}`]);
      const where = namespace;
      assert.equal(create(SPEC, alice, { where }).status, 0);
      assert.equal(create(named(alice), alice, { where }).status, 0);
      assert.match(create(named(eve), alice, { where }).stderr, /spec\.createdBy: must be your user name/);
    });

    it('nobody there may name a token, a sealed source or a status', () => {
      for (const [spec, more, refused] of [
        [named(eve, { token: { id: 1, user: 1 } }), {}, /only the API of Probeyard may set spec\.token/],
        [named(eve, { source: { sealed: 'a.b.c.d.e' } }), {}, /only the API of Probeyard may set spec\.source\.sealed/],
        [named(eve), { status: { attempts: 1 } }, /only the controllers of Probeyard may write the status/],
      ] as const)
        assert.match(create(spec, eve, more).stderr, refused);
    });

    it('pools, tools and policies are refused there', () => {
      for (const [kind, spec] of [
        ['ProbePool', { serves: { kinds: ['file'] }, minReady: 0, maxPods: 1 }],
        ['ProbeTool', { tool: 'ffprobe', version: '9.9', image: 'x', command: ['{root}/ffprobe'] }],
        ['ProbePolicy', { rules: [{ name: 'a' }] }],
      ] as const)
        assert.match(
          kubectl(['create', '--namespace', team, '-f', '-'], object(kind, spec)).stderr,
          new RegExp(`no Probeyard serves the namespace ${team}; create a ${kind} in the namespace ${namespace}`),
        );
    });

    it('every right there is none in the namespaces of the release and of the runners', () => {
      assert.equal(can(eve, team, 'create', 'probejobs.probeyard.dev'), 'yes');
      for (const where of [namespace, runners])
        for (const [verb, what] of [
          ['get', 'secrets'],
          ['get', 'pods'],
          ['create', 'pods/exec'],
          ['get', 'probejobs.probeyard.dev'],
          ['impersonate', 'serviceaccounts'],
          ['get', 'events'],
        ] as const)
          assert.equal(can(eve, where, verb, what), 'no', `${verb} ${what} in ${where}`);
    });

    it('the controller reads, ends and deletes jobs there, creates none, and reads nothing else', () => {
      for (const [verb, what, answer] of [
        ['list', 'probejobs.probeyard.dev', 'yes'],
        ['patch', 'probejobs.probeyard.dev', 'yes'],
        ['deletecollection', 'probejobs.probeyard.dev', 'yes'],
        ['create', 'events', 'yes'],
        ['create', 'probejobs.probeyard.dev', 'no'],
        ['get', 'secrets', 'no'],
        ['list', 'pods', 'no'],
        ['get', 'probepools.probeyard.dev', 'no'],
      ] as const)
        assert.equal(can(controller(), team, verb, what), answer, `${verb} ${what}`);
      assert.equal(can(`system:serviceaccount:${namespace}:py-probeyard-api`, team, 'list', 'probejobs'), 'no');
    });

    it('without the binding nothing of it is left', async () => {
      run('upgrade');
      await until('it is refused', () => /no Probeyard serves/.test(create(named(eve), eve).stderr), 30_000);
      assert.equal(can(controller(), team, 'list', 'probejobs.probeyard.dev'), 'no');
      assert.equal(kubectl(['get', 'clusterrole', `${namespace}-py-probeyard-tenants`]).status, 1);
    });
  });

  // Mocha runs nested suites after the tests beside them.
  describe('after these tests', () => {
    it('is uninstalled', () => {
      run('uninstall');
      assert.equal(
        kubectl(['get', 'deployments,statefulsets,services,roles,networkpolicies', '-o', 'name']).stdout,
        '',
      );
      const ofCluster =
        'validatingadmissionpolicies,validatingadmissionpolicybindings,clusterroles,clusterrolebindings';
      assert.equal(kubectl(['get', ofCluster, '-l', 'app.kubernetes.io/instance=py', '-o', 'name']).stdout, '');
    });
  });
});
