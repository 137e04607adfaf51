import assert from 'node:assert/strict';
import {
  PULL_PATIENCE_MS,
  START_PATIENCE_MS,
  judgeProof,
  provenStatus,
  readProofLine,
} from '../../src/controller/catalog/verdict.ts';
import { registryAllowed } from '../../src/controller/catalog/prove.ts';
import type { Pod } from '../../src/kube/kinds.ts';

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
    ['gives a pull some time', waiting('ErrImagePull'), undefined, 'pending'],
    [
      'ends when the pull does not succeed',
      waiting('ImagePullBackOff', PULL_PATIENCE_MS + 1),
      undefined,
      'refused',
      'ImageUnavailable',
    ],
    [
      'ends at once for an image that may not be pulled',
      waiting('ErrImageNeverPull'),
      undefined,
      'refused',
      'ImageUnavailable',
    ],
    [
      'ends for a container that cannot be made',
      waiting('CreateContainerError', 6_000),
      undefined,
      'refused',
      'CannotStart',
    ],
    [
      'waits for a large image that is still being pulled',
      waiting('ContainerCreating', 2 * PULL_PATIENCE_MS + 1),
      undefined,
      'waiting',
      'Starting',
    ],
    [
      'ends for a pod that never starts',
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
    ['gives the scheduler a moment', unscheduled(1_000), undefined, 'pending'],
    [
      'does not take a pod whose time was up before it ran for one that hangs',
      pod({
        phase: 'Failed',
        reason: 'DeadlineExceeded',
        containerStatuses: [{ state: { waiting: { reason: 'ContainerCreating' } } }],
      }),
      '',
      'refused',
      'CannotStart',
    ],
    ['takes the line of a good one', pod({ phase: 'Succeeded' }), `warning\n${JSON.stringify(good)}\n`, 'proven'],
    [
      'takes the words of a bad one',
      ended(),
      '{"ok":false,"reason":"WrongArchitecture","message":"exec format error"}',
      'refused',
      'WrongArchitecture',
    ],
    ['says that it hangs', pod({ phase: 'Failed', reason: 'DeadlineExceeded' }), '', 'refused', 'Hangs'],
    ['says that it ran out of memory', ended({ reason: 'OOMKilled', exitCode: 137 }), '', 'refused', 'OutOfMemory'],
    ['says that it crashed when it said nothing', ended({ exitCode: 139 }), 'Segmentation fault', 'refused', 'Crashed'],
    ['waits for the line of a success', pod({ phase: 'Succeeded' }), '', 'pending'],
    [
      'does not believe a success without a line for ever',
      pod({ phase: 'Succeeded' }, PULL_PATIENCE_MS + 1),
      '',
      'refused',
      'Crashed',
    ],
    ['does not judge by a log that could not be read', ended({ exitCode: 1 }), undefined, 'pending'],
    [
      'does not wait for a log for ever',
      pod({ phase: 'Failed' }, PULL_PATIENCE_MS + 1),
      undefined,
      'refused',
      'Crashed',
    ],
    [
      'needs no log of one that ran out of memory',
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

  it("counts patience from when it was made by our clock, whatever the API server's says", () => {
    const skewed = waiting('ErrImagePull', 2 * PULL_PATIENCE_MS + 1);
    assert.equal(judgeProof(skewed, undefined, NOW, NOW - 1_000).state, 'pending');
    assert.equal(
      judgeProof(waiting('ErrImagePull', -60_000), undefined, NOW, NOW - PULL_PATIENCE_MS - 1).state,
      'refused',
    );
  });

  it('reads the last whole line, and none from rubbish', () => {
    assert.equal(readProofLine('{"ok":false,"reason":"A","message":""}\n{"ok":true,"vers')?.ok, false);
    for (const text of ['', 'x', '{}', '{"ok":1}', '[true]', '{"ok":']) assert.equal(readProofLine(text), undefined);
  });

  it('a proven tool carries what its binary reported, per architecture; a refused one keeps an earlier proof', () => {
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
