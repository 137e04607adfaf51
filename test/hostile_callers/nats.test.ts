/**
 * A compromised agent on the real NATS, and the limits of its identity against other pods, other jobs and the product.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Heartbeat } from '../../src/platform/bus/messages.ts';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { packResult, type TextBody } from '../result/text_body.ts';
import { INBOX } from '../../src/platform/bus/permissions.ts';
import { PODS, PROBE_JOBS, type Pod } from '../../src/platform/kube/client.ts';
import {
  NAMESPACE,
  RUNNERS,
  cluster,
  eventually,
  fixtures,
  stateOf,
  type Answer,
  type Cluster,
} from '../cluster/fixture.ts';
import { controllersSaid, natsOf, runnerPods, tokenFor, type LogLine } from './rig.ts';
import type { Wire } from './wire.ts';

async function within(promise: Promise<void>, what: string): Promise<void> {
  let over = false;
  void promise.then(() => {
    over = true;
  });
  await eventually(what, 20, () => over);
}

interface Work {
  id: string;
  token: string;
  pod: Pod;
  answer: Promise<Answer>;
}

describe('a stolen NATS identity of a runner', function () {
  this.timeout(120_000);
  let c: Cluster;
  let open: (as?: object) => Promise<Wire>;
  let wire: Wire;
  let mine: Work;
  let theirs: Work;
  let release = (): void => {};
  const since = new Date(Date.now() - 1_000);

  /** One request of a new token, whose source is held until the end of the test, and the runner of its job. */
  async function work(url: string): Promise<Work> {
    const { id: token, token: secret } = await c.newToken();
    const answer = c.probe({ url, only: 'ffprobe' }, { token: secret });
    answer.catch(() => {});
    const job = await eventually('it runs', 60, async () =>
      (
        await c.kube.list(PROBE_JOBS, { namespace: NAMESPACE, labelSelector: `probeyard.dev/token=${token}` })
      ).items.find((one) => stateOf(one) === 'Running'),
    );
    return {
      id: job.metadata.name,
      token: secret,
      pod: await c.kube.get(PODS, job.status?.runner?.pod ?? '', { namespace: RUNNERS }),
      answer,
    };
  }
  const uidOf = (of: Work): string => of.pod.metadata.uid ?? '';

  before(async () => {
    c = await cluster();
    open = await natsOf(c);
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const clip = await readFile(join(fixtures, 'tiny.mp4'));
    // Slowly until then: a source that is silent for 20 s is given up, and these tests may take longer.
    const origin = await c.origin(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': clip.length });
      let sent = 0;
      const timer = setInterval(() => response.write(clip.subarray(sent, (sent += 300))), 1_000);
      response.once('close', () => clearInterval(timer));
      await held;
      clearInterval(timer);
      response.end(clip.subarray(sent));
    });
    [mine, theirs] = await Promise.all([work(`${origin.url}/tiny.mp4`), work(`${origin.url}/tiny.mp4`)]);
    assert.notEqual(uidOf(mine), uidOf(theirs), 'two tenants, two pods');
    wire = await open({
      auth_token: await tokenFor(c, 'probeyard-runner', { audience: 'probeyard-nats', pod: mine.pod }),
    });
  });
  after(async () => {
    release();
    wire?.close();
    await Promise.allSettled([mine?.answer, theirs?.answer]);
    await c.close();
  });

  const said = async (msg: string, matches: (line: LogLine) => boolean = () => true, count = 1): Promise<LogLine[]> =>
    eventually(`the controllers say "${msg}"`, 30, async () => {
      const found = (await controllersSaid(c, since)).filter((line) => line.msg === msg && matches(line));
      return found.length >= count && found;
    });

  describe('connecting to NATS', () => {
    const refused: [string, () => Promise<object>, string][] = [
      ['no credential', async () => ({}), 'no-token'],
      ['a made-up password', async () => ({ user: 'controller', pass: 'controller' }), 'no-token'],
      [
        'a token for the API server',
        async () => ({ auth_token: await tokenFor(c, 'probeyard-runner', { pod: mine.pod }) }),
        'token-audience',
      ],
      [
        'a token for another audience',
        async () => ({ auth_token: await tokenFor(c, 'probeyard-runner', { audience: 'somebody', pod: mine.pod }) }),
        'token-audience',
      ],
      [
        'a token without a pod',
        async () => ({ auth_token: await tokenFor(c, 'probeyard-runner', { audience: 'probeyard-nats' }) }),
        'token-unbound',
      ],
      [
        'a token of the service account of proofs',
        async () => ({ auth_token: await tokenFor(c, 'probeyard-verify', { audience: 'probeyard-nats' }) }),
        'token-account',
      ],
      [
        "a token of the API's service account",
        async () => ({
          auth_token: await tokenFor(c, 'probeyard-api', { audience: 'probeyard-nats', namespace: NAMESPACE }),
        }),
        'token-namespace',
      ],
      [
        'a token with altered claims',
        async () => {
          const [head, body, signature] = (
            await tokenFor(c, 'probeyard-runner', { audience: 'probeyard-nats', pod: mine.pod })
          ).split('.') as [string, string, string];
          const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as {
            'kubernetes.io': { pod: { uid: string } };
          };
          claims['kubernetes.io'].pod.uid = uidOf(theirs);
          return { auth_token: `${head}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}` };
        },
        'token-signature',
      ],
    ];
    for (const [who, as, code] of refused) {
      it(`${who} is refused, and the controllers log ${code}`, async () => {
        const before = (await controllersSaid(c, since)).filter((line) => line['code'] === code).length;
        await assert.rejects(open(await as()), /Authorization Violation/i);
        await said('refused a connection to NATS', (line) => line['code'] === code, before + 1);
      });
    }

    it('such a token is refused by the API server', async () => {
      const token = await tokenFor(c, 'probeyard-runner', { audience: 'probeyard-nats', pod: mine.pod });
      // The client certificates of the kubeconfig would authenticate first, so the impersonated account shows the
      // rights.
      await assert.rejects(
        c.kubectl(
          '--token',
          token,
          '--as',
          `system:serviceaccount:${RUNNERS}:probeyard-runner`,
          'get',
          'pods',
          '-n',
          RUNNERS,
        ),
        /forbidden/i,
      );
      for (const what of [
        ['list', 'probejobs.probeyard.dev', '-n', NAMESPACE],
        ['get', 'secrets', '-n', NAMESPACE],
        ['create', 'pods', '-n', RUNNERS],
        ['create', 'serviceaccounts/token', '-n', RUNNERS],
      ]) {
        const answer = await c
          .kubectl('auth', 'can-i', '--as', `system:serviceaccount:${RUNNERS}:probeyard-runner`, ...what)
          .catch((error: Error & { stdout?: string }) => error.stdout ?? '');
        assert.equal(answer.trim(), 'no', what.join(' '));
      }
    });
  });

  describe('subscribing', () => {
    let number = 0;
    const subjects: [string, () => string][] = [
      ['everything', () => '>'],
      ["another pod's orders", () => `py.run.${uidOf(theirs)}.>`],
      ['one order to another pod', () => SUBJECT.go(uidOf(theirs))],
      ["all pods' orders", () => 'py.run.*.go'],
      ['results', () => SUBJECT.results],
      ["another pod's chunks", () => `py.chunk.${uidOf(theirs)}.>`],
      ['heartbeats', () => SUBJECT.heartbeats],
      ['jobs to create, with their sealed sources', () => SUBJECT.create],
      ['ends', () => 'py.end.*'],
      ["the controllers' inbox", () => `${INBOX.controller}.>`],
      ["the API's inbox", () => `${INBOX.api}.>`],
      ["another pod's inbox", () => `${INBOX.runner(uidOf(theirs))}.>`],
      ['all inboxes', () => '_INBOX*.>'],
      ["the server's events", () => '$SYS.>'],
      ['who asks to be let in', () => '$SYS.REQ.USER.AUTH'],
      ['who asks, as one of the controllers', () => '$SYS.REQ.USER.AUTH callout'],
      ["JetStream's API", () => '$JS.API.>'],
    ];
    for (const [what, subject] of subjects) {
      it(`is refused: ${what}`, async () => {
        const answer = await wire.say(`SUB ${subject()} ${++number}`);
        assert.ok(
          answer.some((line) => /-ERR 'Permissions Violation for Subscription/.test(line)),
          answer.join(' | ') || 'silence',
        );
      });
    }
  });

  describe('publishing', () => {
    const subjects: [string, () => string][] = [
      ['a result of another pod', () => SUBJECT.result(uidOf(theirs))],
      ['a chunk of another pod', () => SUBJECT.chunk(uidOf(theirs), theirs.id, 1, 0)],
      ['a heartbeat of another pod', () => SUBJECT.heartbeat(uidOf(theirs))],
      ['an order to another pod', () => SUBJECT.go(uidOf(theirs))],
      ['a collection notice for another pod', () => SUBJECT.collected(uidOf(theirs))],
      ['a broadcast order', () => SUBJECT.report],
      ['a closed job', () => SUBJECT.closed],
      ['the end of a request', () => SUBJECT.ended('probeyard-api-0')],
      ['a job to create', () => SUBJECT.create],
      ['a purge of a stream', () => '$JS.API.STREAM.PURGE.PY_RESULTS'],
      ['a deletion of a stream', () => '$JS.API.STREAM.DELETE.PY_RESULTS'],
      ['a new stream', () => '$JS.API.STREAM.CREATE.MINE'],
      ['a new consumer', () => '$JS.API.CONSUMER.CREATE.PY_RESULTS.mine'],
      ['a chunk to itself', () => '$JS.API.DIRECT.GET.PY_CHUNKS'],
      ['a list of streams', () => '$JS.API.STREAM.NAMES'],
      ['an acknowledgement of a result', () => '$JS.ACK.PY_RESULTS.collectors.1.1.1.1.1'],
      ['an end of a connection', () => 'py.kick.N'],
      ['a request to the server', () => '$SYS.REQ.SERVER.PING'],
    ];
    for (const [what, subject] of subjects) {
      it(`is refused: ${what}`, async () => {
        const answer = await wire.publish(subject(), '{}');
        assert.ok(
          answer.some((line) => /-ERR 'Permissions Violation for Publish/.test(line)),
          answer.join(' | ') || 'silence',
        );
      });
    }

    it('is limited to the maximum size of a message', async () => {
      const again = await open({
        auth_token: await tokenFor(c, 'probeyard-runner', { audience: 'probeyard-nats', pod: mine.pod }),
      });
      await again.publish(SUBJECT.result(uidOf(mine)), Buffer.alloc(2_000_000));
      await within(again.ended, 'the server hangs up');
    });

    it('a heartbeat of another pod is dropped and logged', async () => {
      const beat: Heartbeat = {
        protocol: 1,
        pod: theirs.pod.metadata.name,
        uid: uidOf(theirs),
        namespace: RUNNERS,
        pool: 'short',
        generation: '',
        phase: 'idle',
        epoch: 1_000_000,
        jobsDone: 1_000,
        ageMs: 1_000,
        idleMs: 1_000,
      };
      for (let count = 0; count < 3; count++)
        await wire.publish(SUBJECT.heartbeat(uidOf(mine)), JSON.stringify(beat), `${INBOX.runner(uidOf(mine))}.x`);
      await said('dropped a heartbeat with the identity of another pod', undefined, 3);
    });

    it('a reply subject that it may not publish to is never used for an order', async () => {
      const beat: Heartbeat = {
        protocol: 1,
        pod: mine.pod.metadata.name,
        uid: uidOf(mine),
        namespace: RUNNERS,
        pool: 'short',
        generation: '',
        phase: 'running',
        epoch: 1,
        job: mine.id,
        attempt: 1,
        jobsDone: 0,
        ageMs: 1_000,
        idleMs: 0,
      };
      for (const reply of [
        SUBJECT.go(uidOf(theirs)),
        SUBJECT.cancel(uidOf(theirs)),
        SUBJECT.collected(uidOf(theirs)),
        SUBJECT.closed,
        '$JS.API.STREAM.PURGE.PY_RESULTS',
      ]) {
        await wire.publish(SUBJECT.heartbeat(uidOf(mine)), JSON.stringify(beat), reply);
        await wire.publish(SUBJECT.result(uidOf(mine)), '{}', reply);
      }
      const logs = await eventually('the other agent has refused what JetStream confirmed to it', 20, async () => {
        const text = await c.kubectl('-n', RUNNERS, 'logs', theirs.pod.metadata.name, '-c', 'agent');
        return /malformed order dropped/.test(text) && text;
      });
      assert.doesNotMatch(logs, /job dropped/);
    });
  });

  describe('results', () => {
    const lie: TextBody = {
      tools: [
        {
          name: 'ffprobe',
          version: '9.0',
          success: true,
          durationMs: 1,
          usageMs: 1,
          exitCode: 0,
          signal: null,
          format: 'json',
          output: '{"lie":true}',
        },
      ],
      ioUsage: 1,
    };
    const publish = async (job: string, attempt: number, change: object = {}) => {
      const { header } = await packResult(lie, { job, attempt, epoch: 1, podUid: uidOf(mine) });
      assert.deepEqual(await wire.publish(SUBJECT.result(uidOf(mine)), JSON.stringify({ ...header, ...change })), []);
    };
    const dropped = (job: string, attempt: number, count = 1) =>
      said(
        'dropped a result of an ended job or of another attempt',
        (line) => line['job'] === job && line['attempt'] === attempt && line['runner_uid'] === uidOf(mine),
        count,
      );

    it("of another pod's job are dropped and logged", async () => {
      await publish(theirs.id, 1);
      await dropped(theirs.id, 1);
    });
    it("in another pod's name under its own subject are dropped", async () => {
      await publish(theirs.id, 1, { podUid: uidOf(theirs) });
      await said('cannot collect a result, will retry', (line) => JSON.stringify(line).includes('malformed result'));
    });
    for (const attempt of [0, 2, 99]) {
      it(`of its own job, but of attempt ${attempt}, are dropped and logged`, async () => {
        await publish(mine.id, attempt);
        await dropped(mine.id, attempt);
      });
    }
    it('of unknown jobs are dropped', async () => {
      for (const job of ['nobody', '*', '../../../namespaces/kube-system/secrets/x', 'py.res.>', ''])
        await publish(job, 1);
      await dropped('nobody', 1);
    });
    it('malformed in large numbers do not stop the collectors', async () => {
      for (let count = 0; count < 100; count++)
        await wire.publish(SUBJECT.result(uidOf(mine)), count % 2 === 0 ? '{}' : Buffer.alloc(count * 100, count));
      const { status } = await c.probe({ url: `${(await c.origin()).url}/tiny.mp4`, only: 'ffprobe' });
      assert.equal(status, 200);
    });

    it('reach both callers once, and a replay of the recorded end changes nothing', async () => {
      release();
      for (const { id, answer } of [mine, theirs]) {
        const { status, json } = await answer;
        assert.equal(status, 200);
        assert.doesNotMatch(JSON.stringify(json), /"lie"/);
        assert.equal((json['ffprobe'] as { success: boolean }).success, true);
        assert.equal((await c.kube.get(PROBE_JOBS, id, { namespace: NAMESPACE })).status?.attempts, 1);
      }
      await publish(mine.id, 1);
      await publish(mine.id, 1);
      await dropped(mine.id, 1, 2);
      const ends = await c.sql(
        `select string_agg(state || ' ' || status || ' ' || (select count(*) from envelopes e where ` +
          `e.id = r.id), ', ') from requests r where id in ('${mine.id}', '${theirs.id}')`,
      );
      assert.equal(ends, 'success 200 1, success 200 1');
      assert.doesNotMatch((await c.get(`/v1/probe/${mine.id}`, mine.token)).text, /"lie"/);
    });
  });

  describe('afterwards', () => {
    it('a deleted pod is disconnected, and its token is refused', async () => {
      const pod = await eventually('there is another runner', 60, async () =>
        (await runnerPods(c)).find(({ metadata }) => ![mine, theirs].some((of) => uidOf(of) === metadata.uid)),
      );
      const token = await tokenFor(c, 'probeyard-runner', { audience: 'probeyard-nats', pod });
      const doomed = await open({ auth_token: token });
      await c.kube.delete(PODS, pod.metadata.name, { namespace: RUNNERS, gracePeriodSeconds: 0 });
      await within(doomed.ended, 'it is cut off');
      await assert.rejects(open({ auth_token: token }), /Authorization Violation/i);
      await said('refused a connection to NATS', (line) => line['code'] === 'pod-unknown');
    });
  });
});
