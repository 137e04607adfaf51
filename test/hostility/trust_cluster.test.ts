/**
 * One account against another through the cluster: jobs created with kubectl, a runner's identity, nodes, and keys that
 * change.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { PODS, PROBE_JOBS, PROBE_POOLS, SECRETS, isKubeError } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { sealKeys } from '../../src/service/setup/secrets.ts';
import { NAMESPACE, RUNNERS, cluster, eventually, fixtures, jobOf, stateOf, type Cluster } from '../cluster/fixture.ts';
import { serveFile } from '../node/origin.ts';
import { controllersSaid, natsOf, runnerPods, tokenFor } from '../hostile_callers/rig.ts';
import { record } from './record.ts';
import { taggedMp3 } from './tagged_mp3.ts';

describe('trust: through the cluster', function () {
  this.timeout(300_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c?.close());

  const note = (attempt: string, expected: string, got: string) => {
    record({ group: 'trust', attempt, expected, got });
    assert.equal(got, expected, attempt);
  };

  it('M4: a job created with kubectl with U+0000 in its address ends, and is recorded', async () => {
    const name = `attack-nul-${randomUUID().slice(0, 8)}`;
    const spec = { kind: 'file' as const, source: { url: 'http://example.com/a\0b.mp4' } };
    const {
      metadata: { uid },
    } = await c.kube.create(PROBE_JOBS, { metadata: { name, namespace: NAMESPACE }, spec });
    try {
      const job = await eventually('it ended', 30, async () => {
        const found = await jobOf(c.kube, name);
        return found.status?.completedAt !== undefined && found;
      });
      const row = await eventually(
        'it is recorded',
        10,
        async () => await c.sql(`select state || ' ' || status from requests where id = '${uid}'`),
      );
      note(
        'M4: a ProbeJob made by hand with U+0000 in its address',
        'InvalidRequest, recorded as 400',
        `${stateOf(job)}, recorded as ${row.split(' ')[1]}`,
      );
    } finally {
      await c.kube.delete(PROBE_JOBS, name, { namespace: NAMESPACE });
    }
  });

  it('L18: a queued job of a suspended account does not run', async () => {
    const asked: string[] = [];
    const held = Promise.withResolvers<void>();
    const origin = await c.origin(async (request, response) => {
      asked.push(request.url ?? '');
      await held.promise;
      await serveFile(fixtures, request, response);
    });
    const { id, token } = await c.newToken(1);
    const first = c.probe({ url: `${origin.url}/tiny.mp4?first`, only: 'ffprobe' }, { token });
    first.catch(() => {});
    const someJobIs = async (state: string): Promise<boolean> => {
      const labelSelector = `probeyard.dev/token=${id}`;
      const { items } = await c.kube.list(PROBE_JOBS, { namespace: NAMESPACE, labelSelector });
      return items.some((job) => stateOf(job) === state);
    };
    try {
      await eventually('the first runs', 60, () => someJobIs('Running'));
      const waiting = c.probe({ url: `${origin.url}/tiny.mp4?second`, only: 'ffprobe' }, { token });
      await eventually('the second waits', 30, () => someJobIs('TokenAtLimit'));
      await c.sql(`update users set status = 'suspended' where id = (select user_id from tokens where id = ${id})`);
      const { status } = await waiting;
      note(
        'L18: a queued job of an account that is suspended',
        '403, its source is not asked',
        `${status}, its source is ${asked.some((url) => url.includes('second')) ? '' : 'not '}asked`,
      );
    } finally {
      held.resolve();
    }
    assert.equal((await first).status, 200, 'what runs goes on');
  });

  it('M6: the condition UserNamespace of each pool agrees with its pods', async () => {
    const pools = (await c.kube.listAll(PROBE_POOLS, { namespace: NAMESPACE })).items;
    assert.ok(pools.length > 0);
    // Its pool has no runner before its first job.
    const { url } = await c.origin();
    await c.probe({ url: `${url}/tiny.mp4`, only: 'qc' });
    for (const {
      metadata: { name },
    } of pools) {
      // After a job a runner may be replaced: then there is none for a moment, or the one that is asked ends.
      const { pods, map } = await eventually(`a runner of ${name} can be asked`, 60, async () => {
        const own = (await runnerPods(c)).filter(({ metadata }) => metadata.labels?.[LABEL.pool] === name);
        const [first] = own;
        if (first === undefined) return undefined;
        const exec = ['-n', RUNNERS, 'exec', first.metadata.name, '-c', 'agent', '--', '/app/bin/node', '-p'];
        return { pods: own, map: await c.kubectl(...exec, 'fs.readFileSync("/proc/self/uid_map", "utf8")') };
      });
      const isMapped = !/^\s*0\s+0\s+4294967295\s*$/.test(map);
      assert.equal(
        pods.every(({ spec }) => spec?.hostUsers === false),
        isMapped,
        map,
      );
      const said = await eventually(`${name} says what its first runner has`, 30, async () => {
        const { status } = await c.kube.get(PROBE_POOLS, name, { namespace: NAMESPACE });
        const known = status?.conditions?.find(({ type }) => type === 'UserNamespace')?.status;
        return known === 'Unknown' ? undefined : (known ?? 'none');
      });
      note(`M6: pool ${name}: UserNamespace, beside the uid map of a runner`, isMapped ? 'True' : 'False', said);
    }
  });

  it('M9: an egress proxy is given the address that was checked, not the name', async () => {
    const name = `rebinds-${randomUUID().slice(0, 8)}`;
    const asked: string[] = [];
    const proxy = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(404).end();
    });
    proxy.on('connect', (request, socket) => {
      asked.push(`CONNECT ${request.url}`);
      socket.on('error', () => {});
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    const folder = await mkdtemp(join(tmpdir(), 'probeyard-egress-'));
    const env = (...settings: string[]) =>
      c.kubectl('-n', NAMESPACE, 'set', 'env', 'deployment/probeyard-controller', ...settings);
    const at = () => `http://${c.hostIp}:${(proxy.address() as AddressInfo).port}`;
    const rolledOut = () =>
      c.kubectl('-n', NAMESPACE, 'rollout', 'status', 'deployment/probeyard-controller', '--timeout=150s');
    try {
      await new Promise<void>((resolve) => proxy.listen(0, c.hostIp, resolve));
      // The name belongs to another account. The cluster's DNS resolves it to a public address, another resolver might
      // not.
      const file = join(folder, 'service.json');
      await writeFile(
        file,
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'List',
          items: [
            {
              apiVersion: 'v1',
              kind: 'Service',
              metadata: { name },
              spec: { clusterIP: 'None', ports: [{ port: 80 }] },
            },
            {
              apiVersion: 'discovery.k8s.io/v1',
              kind: 'EndpointSlice',
              metadata: { name, labels: { 'kubernetes.io/service-name': name } },
              addressType: 'IPv4',
              endpoints: [{ addresses: ['93.184.216.34'] }],
              ports: [{ port: 80 }],
            },
          ],
        }),
      );
      await c.kubectl('-n', RUNNERS, 'create', '-f', file);
      await env(`PY_EGRESS_PROXY=${at()}`);
      await rolledOut();
      const { token } = await c.newToken();
      const host = `${name}.${RUNNERS}.svc.cluster.local`;
      // Runners with the former settings are replaced one after the other.
      await eventually('a request goes through the proxy', 90, async () => {
        for (const scheme of ['http', 'https'])
          await c.probe({ url: `${scheme}://${host}/clip.mp4`, only: 'ffprobe' }, { token });
        return asked.some((line) => line.endsWith(':80')) && asked.some((line) => line.endsWith(':443'));
      });
      note(
        'M9: a name of a stranger, through an egress proxy, by http and by https',
        'CONNECT 93.184.216.34:443 and CONNECT 93.184.216.34:80',
        // Jobs of the tests before may still read from this machine.
        [...new Set(asked.filter((line) => !line.includes(` ${c.hostIp}:`)))].toSorted().join(' and '),
      );
    } finally {
      await env('PY_EGRESS_PROXY-');
      await c.kubectl('-n', RUNNERS, 'delete', 'service,endpointslice', name, '--ignore-not-found');
      await rolledOut();
      await eventually(
        'no runner is left that reads through the proxy',
        120,
        async () => !(await c.kubectl('-n', RUNNERS, 'get', 'pods', '-o', 'json')).includes(at()),
      );
      await new Promise((resolve) => proxy.close(resolve));
      await rm(folder, { recursive: true });
    }
  });

  it('M10: a runner that floods NATS loses its pod, and the large result of another tenant arrives', async () => {
    const held = Promise.withResolvers<void>();
    const slow = await c.origin(async (request, response) => {
      await held.promise;
      await serveFile(fixtures, request, response);
    });
    const since = new Date(Date.now() - 1_000);
    const mine = await c.newToken();
    const answer = c.probe({ url: `${slow.url}/tiny.mp4`, only: 'ffprobe' }, { token: mine.token });
    answer.catch(() => {});
    const job = await eventually('it runs', 60, async () =>
      (
        await c.kube.list(PROBE_JOBS, { namespace: NAMESPACE, labelSelector: `probeyard.dev/token=${mine.id}` })
      ).items.find((one) => stateOf(one) === 'Running'),
    );
    const pod = await c.kube.get(PODS, job.status?.runner?.pod ?? '', { namespace: RUNNERS });
    const uid = pod.metadata.uid ?? '';
    const wire = await (
      await natsOf(c)
    )({ auth_token: await tokenFor(c, 'probeyard-runner', { audience: 'probeyard-nats', pod }) });
    const cut = { off: false };
    void wire.ended.then(() => {
      cut.off = true;
    });
    try {
      const text = randomBytes(1_500_000).toString('hex');
      const song = taggedMp3(text);
      const origin = await c.origin(
        (_request, response) =>
          void response.writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': song.length }).end(song),
      );
      const neighbour = c.probe(
        { url: `${origin.url}/a.mp3`, only: 'ffprobe', ffprobe: { show_format: true } },
        { token: (await c.newToken()).token },
      );
      // Chunks for its own share of the stream, then results and heartbeats as fast as they are read.
      for (let index = 0; index < 30; index++)
        await wire.publish(SUBJECT.chunk(uid, job.metadata.name, 1, index), randomBytes(900_000));
      const burst = [SUBJECT.heartbeat(uid), SUBJECT.result(uid)].flatMap((subject) =>
        Array.from({ length: 500 }, () => [`PUB ${subject} 2`, '{}']).flat(),
      );
      for (let round = 0; round < 20 && !cut.off; round++)
        await wire.say(...burst).catch((error: unknown) => {
          if (!cut.off) throw error;
        });
      const { status, json } = await neighbour;
      const got = (json['ffprobe'] as { response?: { format?: { tags?: { k?: string } } } } | undefined)?.response
        ?.format?.tags?.k;
      note(
        "M10: another tenant's result of 3 MB while a runner's identity floods NATS",
        '200, whole',
        `${status}, ${got === text ? 'whole' : 'not whole'}`,
      );
      await eventually('its pod goes', 30, async () => {
        const found = await c.kube.get(PODS, pod.metadata.name, { namespace: RUNNERS }).catch((error: unknown) => {
          if (isKubeError(error, 'not-found')) return undefined;
          throw error;
        });
        return found === undefined || found.metadata.uid !== uid || found.metadata.deletionTimestamp !== undefined;
      });
      const lines = (await controllersSaid(c, since)).filter(({ msg }) => msg === 'runner floods NATS, ending its pod');
      note(
        'M10: the flooding runner',
        'cut off, its pod ended',
        lines.length > 0 && cut.off
          ? 'cut off, its pod ended'
          : `${lines.length} lines, ${cut.off ? '' : 'not '}cut off`,
      );
    } finally {
      held.resolve();
      wire.close();
    }
    note("M10: the job that ran in the flooding runner's pod", '200', String((await answer).status));
  });

  it('M11: no request fails while a seal key is added and the NATS certificate is renewed', async () => {
    const keysIn = async (name: string, key: string) =>
      (
        JSON.parse(
          Buffer.from(
            (await c.kube.get(SECRETS, name, { namespace: NAMESPACE })).data?.[key] ?? '',
            'base64',
          ).toString(),
        ) as { keys: { kid: string }[] }
      ).keys;
    const write = (name: string, key: string, keys: object[]) =>
      c.kube.mergePatch(
        SECRETS,
        name,
        { data: { [key]: Buffer.from(JSON.stringify({ keys })).toString('base64') } },
        { namespace: NAMESPACE },
      );
    /** A change of the pod makes the kubelet write its files at once instead of within a minute. */
    const hurry = (component: string) =>
      c.kubectl(
        '-n',
        NAMESPACE,
        'annotate',
        'pod',
        '-l',
        `${LABEL.component}=${component}`,
        '--overwrite',
        `test/changed=${Date.now()}`,
      );
    const origin = await c.origin();
    const { token } = await c.newToken();
    const statuses = new Set<number>();
    const over = new AbortController();
    let newest = '';
    const load = (async () => {
      while (!over.signal.aborted) {
        const { status, json } = await c.probe({ url: `${origin.url}/tiny.mp4`, only: 'ffprobe' }, { token });
        statuses.add(status);
        const { spec } = await jobOf(c.kube, json.metadata?.request_id ?? '');
        newest = (
          JSON.parse(Buffer.from(spec.source.sealed?.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }
        ).kid;
      }
    })();
    load.catch(() => {});
    const renewal = `renewal-${randomUUID().slice(0, 8)}`;
    try {
      await c.kubectl('-n', NAMESPACE, 'create', 'job', renewal, '--from=cronjob/probeyard-renewal');
      const made = await sealKeys();
      const keyOf = (text: string) =>
        (JSON.parse(text) as { keys: { kid: string }[] }).keys[0] ?? assert.fail('no key');
      const opening = keyOf(made.private['private.jwks'] ?? '');
      // As described in docs/operating/secrets.md, but only the last key is kept, because repeated runs would add up.
      await write('probeyard-seal-private', 'private.jwks', [
        ...(await keysIn('probeyard-seal-private', 'private.jwks')).slice(-1),
        opening,
      ]);
      await hurry('controller');
      const read = 'fs.readFileSync(process.env.PY_SEAL_PRIVATE_FILE, "utf8")';
      await eventually('every controller has the file with the new key', 90, async () => {
        const pods = (
          await c.kube.listAll(PODS, { namespace: NAMESPACE, labelSelector: `${LABEL.component}=controller` })
        ).items;
        const files = await Promise.all(
          pods.map(({ metadata: { name } }) =>
            c.kubectl('-n', NAMESPACE, 'exec', name, '--', '/app/bin/node', '-p', read),
          ),
        );
        return files.length > 0 && files.every((file) => file.includes(opening.kid));
      });
      // Nothing shows that they have read it. According to docs/operating/secrets.md they do within 10 s.
      await delay(11_000);
      await write('probeyard-seal-public', 'public.jwks', [
        ...(await keysIn('probeyard-seal-public', 'public.jwks')).slice(-1),
        keyOf(made.public['public.jwks'] ?? ''),
      ]);
      await hurry('api');
      await eventually('the API seals with the new key', 90, () => newest === opening.kid);
      await c.kubectl('-n', NAMESPACE, 'wait', '--for=condition=complete', `job/${renewal}`, '--timeout=150s');
    } finally {
      over.abort();
      await load;
      await c.kubectl('-n', NAMESPACE, 'delete', 'job', renewal, '--ignore-not-found', '--wait=false');
    }
    note(
      'M11: requests while a seal key is added and the renewal of the NATS certificate runs',
      '200',
      [...statuses].join(' and '),
    );
  });
});
