import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { runnerPermissions } from '../../src/platform/bus/permissions.ts';
import {
  connectionName,
  lifeIn,
  lifeOf,
  lifeStated,
  makeRunnerId,
  MAX_LIFE,
  parseRunnerId,
  podOf,
} from '../../src/platform/bus/runner_id.ts';

const podUid = randomUUID();

describe('ids of runners', () => {
  for (const life of [0, 1, 9, 10, MAX_LIFE])
    it(`life ${life} of a pod: what was made is parsed`, () => {
      const id = makeRunnerId({ podUid, life });
      assert.deepEqual(parseRunnerId(id), { podUid, life });
      assert.deepEqual([podOf(id), lifeOf(id), id.length <= 64], [podUid, life, true]);
    });
  it('the first life of a pod has the name of the pod', () => assert.equal(makeRunnerId({ podUid, life: 0 }), podUid));

  for (const id of [
    '',
    '_1',
    `${podUid}_`,
    `${podUid}_0`,
    `${podUid}_01`,
    `${podUid}_-1`,
    `${podUid}_1_1`,
    `${podUid}.1`,
    `${podUid}_1 `,
    `${podUid}_1e3`,
    `${podUid}_${MAX_LIFE + 1}`,
    `${podUid}_99999999999999999999`,
    '*',
    '>',
    `${podUid}_>`,
    'a.b',
    'a'.repeat(65),
  ])
    it(`${JSON.stringify(id)} names no runner`, () => {
      assert.equal(parseRunnerId(id), undefined);
      assert.deepEqual([podOf(id), lifeOf(id)], [id, 0]);
    });

  it('no life may publish or subscribe for another', () => {
    const matches = (pattern: string, subject: string): boolean => {
      const wanted = pattern.split('.');
      const tokens = subject.split('.');
      return (
        wanted.every((token, at) => token === '*' || token === tokens[at] || token === '>') &&
        (wanted.at(-1) === '>' ? tokens.length >= wanted.length : tokens.length === wanted.length)
      );
    };
    const lives = [0, 1, 2, 10, 11].map((life) => makeRunnerId({ podUid, life }));
    for (const mine of lives)
      for (const other of lives) {
        const { publish, subscribe } = runnerPermissions(mine);
        const used = [
          SUBJECT.heartbeat(other),
          SUBJECT.offer(other),
          SUBJECT.result(other),
          SUBJECT.chunk(other, 'job', 1, 0),
        ];
        const orders = ['prepare', 'go', 'cancel', 'renew', 'collected'].map((what) => `py.run.${other}.${what}`);
        const may = (patterns: string[], subject: string) => patterns.some((pattern) => matches(pattern, subject));
        for (const subject of used) assert.equal(may(publish, subject), mine === other, `${mine} publishes ${subject}`);
        for (const subject of [...orders, `_INBOX_${other}.x`])
          assert.equal(may(subscribe, subject), mine === other, `${mine} subscribes to ${subject}`);
      }
  });
});

describe('lives of pods', () => {
  for (const [text, life] of [
    [undefined, 0],
    ['', 0],
    ['0', 0],
    ['1', 1],
    ['12', 12],
    [String(MAX_LIFE), MAX_LIFE],
    [String(MAX_LIFE + 1), undefined],
    ['01', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    [' 1', undefined],
    ['1\n', undefined],
    ['one', undefined],
  ] as const)
    it(`${JSON.stringify(text)} is ${life === undefined ? 'none' : `life ${life}`}`, () =>
      assert.equal(lifeIn(text), life));

  it('a connection states its life by its name, if it is not the first', () => {
    assert.deepEqual([lifeStated(connectionName('runner-short-1', 0)), lifeStated('runner/short')], [0, 0]);
    assert.equal(lifeStated(connectionName('runner-short-1', 7)), 7);
    assert.deepEqual([lifeStated(undefined), lifeStated('anything')], [0, 0]);
    assert.equal(lifeStated('runner/short/x'), undefined);
  });
});
