/** A submitter: a user with the right to create, read and delete ProbeJobs, and no other, who tries to get more. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROBE_JOBS, isKubeError } from '../../src/platform/kube/client.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { NAMESPACE, cluster, eventually, jobOf, stateOf, type Cluster } from '../cluster/fixture.ts';

const MALLORY = 'mallory';
const API = `system:serviceaccount:${NAMESPACE}:probeyard-api`;

describe('a kubectl user who may only create, read and delete ProbeJobs', function () {
  this.timeout(120_000);
  let c: Cluster;
  let folder: string;
  const made: string[] = [];
  before(async () => {
    c = await cluster();
    folder = await mkdtemp(join(tmpdir(), 'probeyard-'));
    await c.kubectl('-n', NAMESPACE, 'delete', 'rolebinding', MALLORY, '--ignore-not-found');
    await c.kubectl(
      '-n',
      NAMESPACE,
      'create',
      'rolebinding',
      MALLORY,
      '--role=probeyard-submitter',
      `--user=${MALLORY}`,
    );
    await eventually('the binding acts', 20, async () =>
      /yes/.test(
        await c.kubectl('auth', 'can-i', 'create', 'probejobs.probeyard.dev', '-n', NAMESPACE, '--as', MALLORY),
      ),
    );
  });
  after(async () => {
    for (const name of made) {
      await c.kube
        .mergePatch(PROBE_JOBS, name, { metadata: { finalizers: null } }, { namespace: NAMESPACE })
        .catch(() => {});
      await c.kube.delete(PROBE_JOBS, name, { namespace: NAMESPACE }).catch((error: unknown) => {
        if (!isKubeError(error, 'not-found')) throw error;
      });
    }
    await c.kubectl('-n', NAMESPACE, 'delete', 'rolebinding', MALLORY);
    await rm(folder, { recursive: true, force: true });
    await c.close();
  });

  const create = async (
    name: string,
    spec: object,
    { as = MALLORY, metadata = {}, status = undefined as object | undefined } = {},
  ): Promise<string> => {
    const file = join(folder, `${name}.json`);
    await writeFile(
      file,
      JSON.stringify({
        apiVersion: 'probeyard.dev/v1alpha1',
        kind: 'ProbeJob',
        metadata: { name, namespace: NAMESPACE, ...metadata },
        spec,
        ...(status ? { status } : {}),
      }),
    );
    const said = await c.kubectl('--as', as, 'create', '-f', file);
    made.push(name);
    return said;
  };
  const refusedAs = (doing: Promise<unknown>, words: RegExp) =>
    assert.rejects(doing, (error: Error & { stderr?: string }) => {
      assert.match(error.stderr ?? '', words);
      return true;
    });
  const ended = (name: string): Promise<ProbeJob> =>
    eventually(`${name} ended`, 60, async () => {
      const job = await jobOf(c.kube, name);
      return job.status?.completedAt !== undefined && job;
    });
  const file = async () => `${(await c.origin()).url}/tiny.mp4`;
  const plain = { source: { url: 'http://example.com/a.mp4' }, tools: [{ name: 'ffprobe', version: '0.0' }] };
  const held = async () => c.origin((_request, response) => void setTimeout(() => response.destroy(), 60_000).unref());

  describe('is refused by the API server', () => {
    const specs: [string, object, RegExp, { metadata?: object }?][] = [
      [
        'the token of another user',
        { ...plain, token: { id: 1, user: 1 } },
        /only the API of Probeyard may set spec\.token/,
      ],
      [
        'a sealed source',
        { source: { sealed: 'a.b.c.d.e', display: 'x' } },
        /only the API of Probeyard may set spec\.source\.sealed/,
      ],
      [
        'the label of another token',
        plain,
        /only the API of Probeyard may set the label probeyard\.dev\/token/,
        { metadata: { labels: { 'probeyard.dev/token': '1' } } },
      ],
      ['an address of 100 kB', { source: { url: `http://example.com/${'a'.repeat(100_000)}` } }, /4096/],
      ['a display of 100 kB', { source: { url: 'http://example.com/a', display: 'x'.repeat(100_000) } }, /1024/],
      [
        'ten thousand tools',
        { ...plain, tools: Array.from({ length: 10_000 }, () => ({ name: 'ffprobe', version: '9.0' })) },
        /must have at most 4 items|Duplicate value/,
      ],
      [
        'two versions of one tool',
        {
          ...plain,
          tools: [
            { name: 'ffprobe', version: '9.0' },
            { name: 'ffprobe', version: '4.0' },
          ],
        },
        /two versions of one tool are only possible with the kind compare/,
      ],
      [
        'one version of a tool twice',
        {
          ...plain,
          tools: [
            { name: 'ffprobe', version: '9.0' },
            { name: 'ffprobe', version: '9.0' },
          ],
        },
        /Duplicate value/,
      ],
      ['a version of 100 kB', { ...plain, tools: [{ name: 'ffprobe', version: '9'.repeat(100_000) }] }, /64/],
      [
        'a thousand options',
        {
          ...plain,
          tools: [
            {
              name: 'ffprobe',
              version: '9.0',
              options: Object.fromEntries(Array.from({ length: 1_000 }, (_, key) => [`o${key}`, 'x'])),
            },
          ],
        },
        /64/,
      ],
      [
        'an option of 100 kB',
        { ...plain, tools: [{ name: 'ffprobe', version: '9.0', options: { show_format: 'x'.repeat(100_000) } }] },
        /1024/,
      ],
      ['a queue timeout of a year', { ...plain, queueTimeoutMs: 31_536_000_000 }, /60000/],
      ['a timeout of a year', { ...plain, timeoutMs: 31_536_000_000 }, /650000/],
      ['a negative queue timeout', { ...plain, queueTimeoutMs: -1 }, /greater than or equal to 1/],
      [
        'annotations of 2 MB',
        plain,
        /must have at most 262144 bytes|Too long|too large/i,
        { metadata: { annotations: { a: 'x'.repeat(2_000_000) } } },
      ],
    ];
    for (const [what, spec, words, more] of specs)
      it(what, () => refusedAs(create(`attack-${randomUUID().slice(0, 8)}`, spec, more), words));

    it('cannot write a status, the spec, labels or finalizers of any job', async () => {
      await create('attack-target', plain);
      for (const args of [
        ['patch', 'pj', 'attack-target', '--type=merge', '-p', '{"spec":{"timeoutMs":5}}'],
        ['patch', 'pj', 'attack-target', '--type=merge', '-p', '{"status":{"resultPath":"/v1/probe/other"}}'],
        ['label', 'pj', 'attack-target', 'probeyard.dev/token=1'],
        ['patch', 'pj', 'attack-target', '--type=merge', '-p', '{"metadata":{"finalizers":["example.com/x"]}}'],
        ['get', 'secrets'],
        ['get', 'pods'],
        ['delete', 'pt', '--all'],
        ['patch', 'pp', 'short', '--type=merge', '-p', '{"spec":{"minReady":99}}'],
      ])
        await refusedAs(c.kubectl('--as', MALLORY, '-n', NAMESPACE, ...args), /forbidden/i);
    });
  });

  it("the administrator cannot give a job another spec or another token's label either", async () => {
    await create('attack-changed', plain);
    await refusedAs(
      c.kubectl(
        '-n',
        NAMESPACE,
        'patch',
        'pj',
        'attack-changed',
        '--type=merge',
        '-p',
        '{"spec":{"token":{"id":1,"user":1}}}',
      ),
      /cannot be changed|only the API/,
    );
    await refusedAs(
      c.kubectl('-n', NAMESPACE, 'label', 'pj', 'attack-changed', 'probeyard.dev/token=1'),
      /only the API of Probeyard may set the label/,
    );
  });

  it('a status in a new job is refused', async () => {
    const name = 'attack-status';
    const conditions = [
      {
        type: 'Succeeded',
        status: 'True',
        reason: 'Completed',
        message: 'done',
        lastTransitionTime: new Date().toISOString(),
      },
    ];
    const status = {
      conditions,
      admittedBy: { holder: 'me', epoch: 2_000_000_000 },
      completedAt: new Date().toISOString(),
      runner: { pod: 'x', uid: 'y' },
      attempts: 99,
    };
    for (const forged of [status, { admittedBy: status.admittedBy }, { attempts: 1 }])
      await refusedAs(
        create(name, { source: { url: await file() } }, { status: forged }),
        /only the controllers of Probeyard may write the status of a ProbeJob/,
      );
  });

  it("another job's sealed source does not open in a new job, even with the API's account", async () => {
    const { token: secret, id: token } = await c.newToken();
    const origin = await held();
    const stop = new AbortController();
    const victim = c
      .probe({ url: `${origin.url}/private.mp4` }, { token: secret, signal: stop.signal })
      .catch(() => undefined);
    const job = await eventually('the victim runs', 60, async () =>
      (
        await c.kube.list(PROBE_JOBS, { namespace: NAMESPACE, labelSelector: `probeyard.dev/token=${token}` })
      ).items.find((one) => stateOf(one) === 'Running'),
    );
    const user = job.spec.token!.user;
    const other = await c.newToken();
    await eventually("the victim's source is read", 30, () => origin.requests.length > 0);
    // A file of a host that looks far has its end asked for at the same time, which may arrive later.
    const asked = () => origin.requests.filter(({ range }) => range?.startsWith('bytes=-') !== true).length;
    const before = asked();
    for (const whose of [
      { id: token, user },
      { id: other.id, user },
    ]) {
      const name = randomUUID();
      await create(name, { ...job.spec, token: whose }, { as: API });
      const copy = await ended(name);
      assert.deepEqual([stateOf(copy), copy.status?.runner], ['InvalidRequest', undefined]);
      assert.match(copy.status?.summary ?? '', /cannot decrypt the sealed source: it belongs to another job/);
    }
    assert.equal(asked(), before, JSON.stringify(origin.requests));
    stop.abort();
    await victim;
  });

  it('cannot read a Secret through a job, whether jobs may name Secrets or not', async () => {
    for (const [name, key] of [
      ['probeyard-postgres', 'password'],
      ['probeyard-admin', 'token'],
      ['probeyard-seal-private', 'private.jwks'],
    ] as const) {
      const job = `attack-${name}`;
      await create(job, { source: { secretRef: { name, key } } });
      const { status } = await ended(job);
      assert.equal(stateOf({ status } as ProbeJob), 'InvalidRequest');
      assert.match(
        status?.summary ?? '',
        /spec.source.secretRef: Probeyard may not read Secrets of the namespace probeyard;/,
      );
    }
  });

  it('a job held by a finalizer is cancelled when it is deleted, and frees its slot', async () => {
    const name = 'attack-finalizer';
    await create(
      name,
      { source: { url: `${(await held()).url}/a.mp4` } },
      { metadata: { finalizers: ['example.com/keep'] } },
    );
    const running = await eventually('it runs', 60, async () => {
      const job = await jobOf(c.kube, name);
      return stateOf(job) === 'Running' && job;
    });
    await c.kubectl('--as', MALLORY, '-n', NAMESPACE, 'delete', 'pj', name, '--wait=false');
    const job = await ended(name);
    assert.equal(stateOf(job), 'Cancelled');
    await eventually(
      'the record has its end',
      15,
      async () => (await c.sql(`select reason from requests where id = '${running.metadata.uid}'`)) === 'Cancelled',
    );
  });

  it('250 kB of annotations on many jobs do not block other requests', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `attack-heavy-${index}`);
    for (const name of names) await create(name, plain, { metadata: { annotations: { note: 'x'.repeat(250_000) } } });
    for (const name of names) assert.equal(stateOf(await ended(name)), 'ToolUnavailable');
    assert.equal((await c.probe({ url: await file() })).status, 200);
  });
});
