import assert from 'node:assert/strict';
import { grown, soakPage, type Round } from './page.ts';

const round = (api: number, change: Partial<Round> = {}): Round => ({
  faults: ['leaderKilled', 'natsWiped'],
  requests: 200,
  statuses: { 200: 200 },
  most: 4,
  longestGapMs: 1_000,
  memory: { api, controller: 300, nats: 50, postgres: 200, runner: 120 },
  ...change,
});

describe('page of a soak', () => {
  for (const [what, memories, expected] of [
    ['memory that rises from round to round has grown', [300, 310, 320, 340, 360, 380, 400, 420, 440], ['api']],
    ['memory that goes up and down has not grown', [300, 390, 310, 380, 300, 370, 320, 390, 310], []],
    ['a small increase of a small value is not growth', [30, 30, 30, 36, 36, 36, 40, 40, 40], []],
    ['memory that rises at first, and then stays, has not grown', [180, 185, 190, 220, 225, 230, 230, 235, 240], []],
    ['a few rounds are too few to tell', [100, 200, 300, 400, 500], []],
  ] as const)
    it(what, () => assert.deepEqual(grown(memories.map((api) => round(api))), expected));

  it('adds up the statuses that callers got, and names the worst round', () => {
    const page = soakPage(
      [
        round(300),
        round(310, {
          requests: 210,
          statuses: { 200: 205, 500: 4, 0: 1 },
          longestGapMs: 20_500,
          faults: ['postgresRefuses', 'natsWiped'],
        }),
      ],
      { seed: 7, minutes: 60, date: '2026-01-01', runners: 'Each runner had one life.' },
    );
    for (const part of [
      '2 rounds',
      'Each runner had one life.',
      '410 requests',
      '200 405 times',
      '500 4 times',
      'a broken connection 1 times',
      '20.5 s (postgresRefuses and natsWiped)',
      'leaderKilled 1, natsWiped 2, postgresRefuses 1',
      '| both API replicas | 300 MB |',
    ])
      assert.ok(page.includes(part), `${part}\n${page}`);
  });
});
