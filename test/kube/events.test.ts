import assert from 'node:assert/strict';
import { EVENTS, PROBE_JOBS, type KubeClient } from '../../src/platform/kube/client.ts';
import { kubeClient } from './kubeconfig.ts';
import { eventRecorder, type RecorderOptions } from '../../src/platform/kube/events.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { testApiServer, type TestApiServer } from './apiserver.ts';

describe('event recorder', function () {
  this.timeout(30_000);
  let server: TestApiServer;
  let client: KubeClient;
  let job: ProbeJob;
  let errors: unknown[];

  before(async () => {
    server = await testApiServer({ own: true });
  });
  beforeEach(async () => {
    client = await kubeClient({ kubeconfig: server.kubeconfig, namespace: await server.namespace('events') });
    job = await client.create(PROBE_JOBS, {
      metadata: { name: 'j' },
      spec: { kind: 'file', source: { url: 'https://a.example/b' } },
    });
    errors = [];
  });
  afterEach(async () => {
    assert.deepEqual(errors, []);
    await client.close();
  });

  const recorder = (options: Partial<RecorderOptions> = {}) =>
    eventRecorder({
      client,
      component: 'probeyard-controller',
      instance: 'controller-0',
      onError: (error) => errors.push(error),
      ...options,
    });
  const stored = async () =>
    (await client.list(EVENTS, { fieldSelector: `involvedObject.uid=${job.metadata.uid}` })).items;

  it('writes what kubectl describe shows', async () => {
    const events = recorder();
    events.record(PROBE_JOBS, job, { type: 'Warning', reason: 'RunnerLost', message: 'the runner went away' });
    await events.flush();
    const [event, ...others] = await stored();
    assert.equal(others.length, 0);
    assert.deepEqual(
      {
        type: event?.type,
        reason: event?.reason,
        message: event?.message,
        count: event?.count,
        source: event?.source,
        object: event?.involvedObject.name,
        kind: event?.involvedObject.kind,
      },
      {
        type: 'Warning',
        reason: 'RunnerLost',
        message: 'the runner went away',
        count: 1,
        source: { component: 'probeyard-controller' },
        object: 'j',
        kind: 'ProbeJob',
      },
    );
  });

  it('counts repeats in one event', async () => {
    const events = recorder();
    for (let n = 0; n < 50; n++)
      events.record(PROBE_JOBS, job, { type: 'Normal', reason: 'NoRunner', message: 'waits for a runner' });
    await events.flush();
    events.record(PROBE_JOBS, job, { type: 'Normal', reason: 'NoRunner', message: 'waits for a runner' });
    await events.flush();
    assert.deepEqual(
      (await stored()).map(({ count }) => count),
      [51],
    );
  });

  it('keeps different events apart', async () => {
    const events = recorder();
    for (const message of ['one', 'two']) events.record(PROBE_JOBS, job, { type: 'Normal', reason: 'R', message });
    events.record(PROBE_JOBS, job, { type: 'Warning', reason: 'R', message: 'one' });
    await events.flush();
    assert.deepEqual((await stored()).map(({ type, message }) => `${type} ${message}`).sort(), [
      'Normal one',
      'Normal two',
      'Warning one',
    ]);
  });

  it('writes a flood only up to its rate', async () => {
    const events = recorder({ burst: 5, perSecond: 0 });
    for (let n = 0; n < 20; n++)
      events.record(PROBE_JOBS, job, { type: 'Normal', reason: 'R', message: `message ${n}` });
    await events.flush();
    assert.equal((await stored()).length, 5);
  });

  it('writes a new event if the server no longer has the old one', async () => {
    const events = recorder();
    const record = () => events.record(PROBE_JOBS, job, { type: 'Normal', reason: 'R', message: 'm' });
    record();
    await events.flush();
    const [first] = await stored();
    await client.delete(EVENTS, first!.metadata.name);
    record();
    await events.flush();
    assert.deepEqual(
      (await stored()).map(({ count }) => count),
      [2],
    );
  });

  it('logs a failure, and continues', async () => {
    const events = recorder();
    const away = { ...job, metadata: { ...job.metadata, namespace: 'nowhere' } };
    events.record(PROBE_JOBS, away, { type: 'Normal', reason: 'R', message: 'lost' });
    events.record(PROBE_JOBS, job, { type: 'Normal', reason: 'R', message: 'kept' });
    await events.flush();
    assert.equal(errors.length, 1);
    assert.match(String(errors.shift()), /nowhere/);
    assert.deepEqual(
      (await stored()).map(({ message }) => message),
      ['kept'],
    );
  });
});
