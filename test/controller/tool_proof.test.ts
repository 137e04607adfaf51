import assert from 'node:assert/strict';
import {
  PULL_PATIENCE_MS,
  START_PATIENCE_MS,
  judgeProof,
  provenStatus,
  readProofLine,
} from '../../src/service/controller/catalog/verdict.ts';
import { registryAllowed } from '../../src/service/controller/catalog/prove.ts';
import type { Pod } from '../../src/platform/kube/kinds.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');
const pod = (status: object, ageMs = 1000): Pod =>
  ({ metadata: { name: 'verify', creationTimestamp: new Date(NOW - ageMs).toISOString() }, status }) as Pod;
const waiting = (reason: string, ageMs?: number) =>
  pod(
    { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason, message: `because ${reason}` } } }] },
    ageMs,
  );
const unscheduled = (ageMs: number) =>
  pod(
    {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }],
    },
    ageMs,
  );
const ended = (more: object = {}) =>
  pod({ phase: 'Failed', containerStatuses: [{ state: { terminated: { exitCode: 1, ...more } } }] });
const good = {
  ok: true as const,
  version: 'ffprobe version 9.0',
  startupMs: 11.4,
  options: ['show_format'],
  protocols: ['file'],
  arch: 'x64',
};

describe('proof of a tool image', () => {
  const cases: [string, Pod, string | undefined, string, string?][] = [
    ['is pending while the pod starts', waiting('ContainerCreating'), undefined, 'pending'],
    ['gives an image pull some time', waiting('ErrImagePull'), undefined, 'pending'],
    [
      'fails if the pull does not succeed in time',
      waiting('ImagePullBackOff', PULL_PATIENCE_MS + 1),
      undefined,
      'refused',
      'ImageUnavailable',
    ],
    [
      'fails at once for an image that may not be pulled',
      waiting('ErrImageNeverPull'),
      undefined,
      'refused',
      'ImageUnavailable',
    ],
    [
      'fails for a container that cannot be created',
      waiting('CreateContainerError', 6_000),
      undefined,
      'refused',
      'CannotStart',
    ],
    [
      'waits for a large image while it is being pulled',
      waiting('ContainerCreating', 2 * PULL_PATIENCE_MS + 1),
      undefined,
      'waiting',
      'Starting',
    ],
    [
      'fails for a pod that never starts',
      waiting('ContainerCreating', START_PATIENCE_MS + 1),
      undefined,
      'refused',
      'CannotStart',
    ],
    [
      'waits for a node, however long that takes',
      unscheduled(START_PATIENCE_MS + 1),
      undefined,
      'waiting',
      'Unschedulable',
    ],
    ['waits a moment for the scheduler', unscheduled(1_000), undefined, 'pending'],
    [
      'a pod that passed its deadline before it ran is not judged as hanging',
      pod({
        phase: 'Failed',
        reason: 'DeadlineExceeded',
        containerStatuses: [{ state: { waiting: { reason: 'ContainerCreating' } } }],
      }),
      '',
      'refused',
      'CannotStart',
    ],
    ['reads the success line', pod({ phase: 'Succeeded' }), `warning\n${JSON.stringify(good)}\n`, 'proven'],
    [
      'reports the error of a failed proof',
      ended(),
      '{"ok":false,"reason":"WrongArchitecture","message":"exec format error"}',
      'refused',
      'WrongArchitecture',
    ],
    ['reports a hang', pod({ phase: 'Failed', reason: 'DeadlineExceeded' }), '', 'refused', 'Hangs'],
    ['reports an out-of-memory kill', ended({ reason: 'OOMKilled', exitCode: 137 }), '', 'refused', 'OutOfMemory'],
    ['reports a crash without a line', ended({ exitCode: 139 }), 'Segmentation fault', 'refused', 'Crashed'],
    ['waits for the line of a success', pod({ phase: 'Succeeded' }), '', 'pending'],
    [
      'fails a success whose line does not come',
      pod({ phase: 'Succeeded' }, PULL_PATIENCE_MS + 1),
      '',
      'refused',
      'Crashed',
    ],
    ['does not judge by a log that cannot be read', ended({ exitCode: 1 }), undefined, 'pending'],
    [
      'does not wait for a log for ever',
      pod({ phase: 'Failed' }, PULL_PATIENCE_MS + 1),
      undefined,
      'refused',
      'Crashed',
    ],
    [
      'needs no log of an out-of-memory kill',
      ended({ exitCode: 137, reason: 'OOMKilled' }),
      undefined,
      'refused',
      'OutOfMemory',
    ],
  ];
  for (const [title, of, log, state, reason] of cases) {
    it(title, () => {
      const verdict = judgeProof(of, log, NOW);
      assert.equal(verdict.state, state);
      if (reason !== undefined) assert.equal('reason' in verdict && verdict.reason, reason);
    });
  }

  it("measures patience from the creation by the local clock, not the API server's", () => {
    const skewed = waiting('ErrImagePull', 2 * PULL_PATIENCE_MS + 1);
    assert.equal(judgeProof(skewed, undefined, NOW, NOW - 1_000).state, 'pending');
    assert.equal(
      judgeProof(waiting('ErrImagePull', -60_000), undefined, NOW, NOW - PULL_PATIENCE_MS - 1).state,
      'refused',
    );
  });

  it('reads the last whole line, and nothing from invalid text', () => {
    assert.equal(readProofLine('{"ok":false,"reason":"A","message":""}\n{"ok":true,"vers')?.ok, false);
    for (const text of ['', 'x', '{}', '{"ok":1}', '[true]', '{"ok":']) assert.equal(readProofLine(text), undefined);
  });

  it('a proven tool has what its binary reported, per architecture; a refused one keeps earlier proofs', () => {
    const first = provenStatus(undefined, 'proof-1', { state: 'proven', line: good }, 1, 't1');
    assert.equal(first.reported, 'ffprobe version 9.0');
    const second = provenStatus(first, 'proof-2', { state: 'proven', line: { ...good, arch: 'arm64' } }, 1, 't2');
    assert.deepEqual(
      second.architectures?.map(({ arch }) => arch),
      ['x64', 'arm64'],
    );
    assert.equal(second.conditions?.[0]?.lastTransitionTime, 't1', 'it stayed True');
    const refused = provenStatus(second, 'proof-3', { state: 'refused', reason: 'Hangs', message: 'm' }, 2, 't3');
    assert.deepEqual(
      refused.conditions?.map(({ type, status, reason }) => [type, status, reason]),
      [['Available', 'False', 'Hangs']],
    );
  });
});

describe('registries that tools may come from', () => {
  for (const [image, allowed, expected] of [
    ['registry.example/a/ffprobe:1', [], true],
    ['registry.example/a/ffprobe:1', ['registry.example/a'], true],
    ['registry.example/a/ffprobe:1', ['registry.example/'], true],
    ['registry.example.evil/ffprobe:1', ['registry.example'], false],
    ['other/ffprobe:1', ['registry.example', 'another'], false],
  ] as const) {
    it(`${image} with [${allowed.join(', ')}]: ${expected}`, () =>
      assert.equal(registryAllowed(image, allowed), expected));
  }
});
