/** Which pool runs a job, and which pools no job can reach. */
import assert from 'node:assert/strict';
import { API_VERSION } from '../../src/platform/kube/resource.ts';
import type { ProbePool, ProbePoolSpec } from '../../src/platform/kube/probe_pool.ts';
import { inOrder, routeOf, servedKinds, shadowsOf, type Routed } from '../../src/platform/kube/route.ts';
import type { ToolName } from '../../src/media/tools/table.ts';
import { reserveOf, shareOf } from '../../src/service/controller/pools/share.ts';

type Given = Partial<ProbePoolSpec['serves']> & { priority?: number };

const poolsOf = (given: Record<string, Given>): ProbePool[] =>
  Object.entries(given).map(([name, { priority, ...serves }]) => ({
    apiVersion: API_VERSION,
    kind: 'ProbePool',
    metadata: { name },
    spec: {
      serves: { kinds: ['file'], ...serves },
      minReady: 2,
      maxPods: 10,
      ...(priority === undefined ? {} : { priority }),
    },
  }));
const job = (change: Partial<Routed> = {}): Routed => ({ kinds: ['file'], account: 7, labels: undefined, ...change });

const runs = (...names: ToolName[]): Routed['kinds'] =>
  servedKinds({ kind: 'file', tools: names.map((name) => ({ name })) });
const checks = job({ kinds: runs('ffprobe', 'qc') });

describe('routes of jobs', () => {
  it('a job is served by its kind, and by its content checks before', () => {
    assert.deepEqual([runs('ffprobe'), runs('ffprobe', 'qc')], [['file'], ['qc', 'file']]);
  });

  for (const [what, pools, of, to] of [
    ['the first by name', { short: {}, aaa: {} }, job(), 'aaa'],
    ['the highest priority before the name', { aaa: {}, zzz: { priority: 1 } }, job(), 'zzz'],
    ['a negative priority after none', { aaa: { priority: -1 }, zzz: {} }, job(), 'zzz'],
    ['the kind', { aaa: { kinds: ['msv'] }, zzz: {} }, job(), 'zzz'],
    ['its own pool for one account', { own: { accounts: [7], priority: 1 }, short: {} }, job(), 'own'],
    ['not that of another account', { own: { accounts: [7], priority: 1 }, short: {} }, job({ account: 8 }), 'short'],
    [
      'by a label',
      { news: { labels: { team: 'news' } }, short: {} },
      job({ labels: { team: 'news', a: 'b' } }),
      'news',
    ],
    [
      'not by another value',
      { news: { labels: { team: 'news' } }, short: {} },
      job({ labels: { team: 'art' } }),
      'short',
    ],
    ['all of the labels', { news: { labels: { a: '1', b: '2' } } }, job({ labels: { a: '1' } }), undefined],
    ['none', { long: { kinds: ['msv'] } }, job(), undefined],
    ['content checks before the kind', { aaa: { priority: 1 }, checks: { kinds: ['qc'] } }, checks, 'checks'],
    ['the kind, without a pool for content checks', { zzz: { kinds: ['msv'] }, short: {} }, checks, 'short'],
    [
      'the kind, where content checks of others are served',
      { a: { kinds: ['qc'], accounts: [8] }, b: {} },
      checks,
      'b',
    ],
    ['not content checks for a probe', { aaa: { kinds: ['qc'] } }, job(), undefined],
  ] as const satisfies readonly (readonly [string, Record<string, Given>, Routed, string | undefined])[])
    it(`chosen by ${what}, in whatever order the pools came`, () => {
      for (const one of [poolsOf(pools), poolsOf(pools).toReversed()])
        assert.equal(routeOf(inOrder(one), of)?.metadata.name, to);
    });

  for (const [what, pools, by] of [
    ['one pool', { own: {} }, undefined],
    ['behind one that takes everything', { aaa: {}, own: {} }, ['aaa']],
    ['before it by priority', { aaa: {}, own: { priority: 1 } }, undefined],
    ['a kind of its own', { aaa: {}, own: { kinds: ['file', 'msv'] } }, undefined],
    [
      'each kind taken by another',
      { aaa: {}, bbb: { kinds: ['msv'] }, own: { kinds: ['file', 'msv'] } },
      ['aaa', 'bbb'],
    ],
    ['a pool of one account behind that of all', { aaa: {}, own: { accounts: [7] } }, ['aaa']],
    ['a pool of all behind that of one account', { aaa: { accounts: [7] }, own: {} }, undefined],
    [
      'accounts taken one by one',
      { a: { accounts: [7] }, b: { accounts: [8] }, own: { accounts: [7, 8] } },
      ['a', 'b'],
    ],
    ['content checks behind probes', { aaa: {}, own: { kinds: ['qc'] } }, undefined],
    ['labels that are fewer', { aaa: { labels: { a: '1' } }, own: { labels: { a: '1', b: '2' } } }, ['aaa']],
    ['labels that are more', { aaa: { labels: { a: '1', b: '2' } }, own: { labels: { a: '1' } } }, undefined],
  ] as const satisfies readonly (readonly [string, Record<string, Given>, readonly string[] | undefined])[])
    it(`shadowed: ${what}`, () => {
      const sorted = inOrder(poolsOf(pools));
      assert.deepEqual(
        shadowsOf(
          sorted,
          sorted.find(({ metadata }) => metadata.name === 'own')!,
        ),
        by,
      );
    });

  it('the pool of one account keeps no runner for others', () => {
    const [own] = poolsOf({ own: { accounts: [7] } });
    const [both] = poolsOf({ both: { accounts: [7, 8] } });
    assert.deepEqual([reserveOf(own!.spec), shareOf(own!.spec)], [0, 10]);
    assert.deepEqual([reserveOf(both!.spec), shareOf(both!.spec)], [2, 5]);
  });
});
