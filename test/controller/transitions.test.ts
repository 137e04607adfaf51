/** The states of a job in the leader: where each event leads, and what must hold for every transition. */
import assert from 'node:assert/strict';
import {
  JOB_EVENTS,
  JOB_STATES,
  TRANSITIONS,
  transition,
  type Effect,
  type EventName,
  type JobState,
} from '../../src/service/controller/leader/job.ts';

const STATES = Object.keys(JOB_STATES) as JobState[];
const EVENTS = Object.keys(JOB_EVENTS) as EventName[];

/** By event, in the order of `STATES`. `=`: ignored. `x`: impossible. */
const TABLE = `
event     | none      creating  suspended intake  refused waiting   admitting running lost     retrying  ending
announced | creating  =         =         =       =       =         =         =       =        =         =
dropped   | x         none      x         x       x       x         x         x       x        x         x
suspended | suspended creating  suspended =       =       x         x         x       x        x         x
resumed   | suspended creating  suspended =       =       x         x         x       x        x         x
seen      | intake    creating  intake    =       =       x         x         x       x        x         x
failed    | x         x         x         intake  x       x         x         x       x        x         x
refused   | x         x         x         refused x       x         x         x       x        x         x
queued    | x         x         x         waiting x       x         x         x       x        x         x
found     | x         x         x         running x       x         x         x       x        x         x
turn      | x         x         x         x       x       admitting x         x       x        admitting x
written   | x         running   x         x       x       x         running   x       x        x         x
lost      | =         x         x         x       x       =         =         lost    =        =         =
retry     | x         x         x         x       x       x         x         x       retrying x         x
ended     | =         x         x         ending  x       ending    ending    ending  ending   ending    =
passed    | x         x         x         x       x       x         x         running x        x         x
recorded  | =         x         x         x       x       ending    ending    ending  ending   ending    =
outrun    | =         x         x         x       x       ending    ending    ending  ending   ending    =
gone      | none      ending    none      none    none    ending    ending    ending  ending   ending    ending
settled   | x         x         x         x       none    x         x         x       x        x         none
`;

const [head = [], ...rows] = TABLE.trim()
  .split('\n')
  .map((line) => line.split(/[\s|]+/));
const PAIRS = rows.flatMap(([event, ...cells]) =>
  cells.map((to, at) => ({ state: head[at + 1] as JobState, event: event as EventName, to })),
);

const MOVES = STATES.flatMap((from) =>
  EVENTS.flatMap((event) => {
    const next = TRANSITIONS[from][event];
    return next === undefined || next === 'ignored' ? [] : [{ from, event, ...next }];
  }),
);
const named = (moves: readonly { from: JobState; event: EventName }[]): string[] =>
  moves.map(({ from, event }) => `${from} ${event}`).toSorted();
const withEffect = (...effects: Effect[]) => MOVES.filter((move) => effects.some((one) => move.effects.includes(one)));

/** Its admission may have been written, so it counts until its end is. */
const ADMITTED: readonly JobState[] = ['creating', 'admitting', 'running', 'lost', 'retrying', 'ending'];

describe('states of a job', () => {
  it('every pair of a state and an event is in the table', () => {
    assert.deepEqual(head.slice(1), STATES);
    assert.deepEqual(
      rows.map(([event]) => event),
      EVENTS,
    );
    assert.equal(PAIRS.length, STATES.length * EVENTS.length);
  });

  for (const { state, event, to } of PAIRS)
    it(`${state}, ${event}: ${to === '=' ? 'ignored' : to === 'x' ? 'impossible' : to}`, () => {
      if (to === 'x') assert.throws(() => transition(state, event), /cannot be/);
      else assert.equal(transition(state, event)?.to ?? '=', to);
    });

  it('a job runs only once its admission is written, by this leader or an earlier one', () => {
    const begins = MOVES.filter(({ from, to }) => to === 'running' && from !== 'running');
    assert.deepEqual(named(begins), ['admitting written', 'creating written', 'intake found']);
    assert.deepEqual(named(withEffect('start attempt')), ['admitting written', 'creating written']);
    assert.deepEqual(named(withEffect('go')), ['admitting written', 'creating written', 'running passed']);
    assert.deepEqual(named(withEffect('next item')), ['running passed']);
    assert.deepEqual(named(withEffect('create')), ['none announced']);
    for (const { to, effects } of MOVES)
      assert.equal(effects.includes('write admission'), to === 'admitting', `${to}: ${effects.join()}`);
  });

  it('a job that may be admitted keeps its slot until its end is written', () => {
    const released = withEffect('release slot').filter(({ from }) => ADMITTED.includes(from));
    // Dropped: certainly not created, or another leader's.
    assert.deepEqual(named(released), ['creating dropped', 'ending settled']);
    for (const { from, to, event } of MOVES)
      if (ADMITTED.includes(from))
        assert.ok(ADMITTED.includes(to) || event === 'settled' || event === 'dropped', `${from} ${event}`);
  });

  it('every job that ends gets one end: recorded here, or by a collector', () => {
    for (const { from, to, event, effects } of MOVES) {
      const ends = effects.filter((effect) => effect === 'record end' || effect === 'write end');
      assert.equal(ends.length, to === 'ending' && from !== 'ending' ? 1 : 0, `${from} ${event}`);
      if (ends[0] === 'write end') assert.ok(event === 'recorded' || event === 'outrun', `${from} ${event}`);
    }
    const without = MOVES.filter(({ to, effects }) => to === 'none' && !effects.includes('record cancellation'));
    assert.deepEqual(named(without), ['creating dropped', 'ending settled', 'refused settled', 'suspended gone']);
  });

  it('no runner keeps a job that leaves it, unless it reported the end', () => {
    const leaves = MOVES.filter(
      ({ from, to }) => (from === 'running' || from === 'admitting') && to !== 'running' && from !== to,
    );
    for (const { from, event, effects } of leaves) {
      const told = effects.some((effect) => effect === 'stop' || effect === 'supersede' || effect === 'let go');
      assert.ok(told || (from === 'running' && event === 'recorded'), `${from} ${event}`);
    }
  });

  it('a runner that was prepared for a job in creation runs it, or is let go', () => {
    const ends = (effect: Effect) => effect === 'let go' || effect === 'start attempt';
    for (const { from, to, event, effects } of MOVES)
      if (from === 'creating' && to !== 'creating') assert.ok(effects.some(ends), `${from} ${event}`);
  });

  it('no timer of a job outlives its end', () => {
    for (const { from, to, event, effects } of MOVES)
      if (to === 'ending' && from !== 'ending' && from !== 'intake' && from !== 'creating')
        assert.ok(effects.includes('disarm'), `${from} ${event}`);
    for (const { from, effects } of withEffect('limit queue time', 'limit run time'))
      assert.ok(from === 'intake' || from === 'creating' || effects.includes('disarm'));
  });
});
