/**
 * The cost of one account for another: the warm probes of a neighbour during an attack, and beside the same number of
 * ordinary requests.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { summary } from '../../../bench/statistics.ts';
import { PODS } from '../../../src/platform/kube/client.ts';
import { NAMESPACE, RUNNERS, cluster, fixtures, type Cluster } from '../../cluster/fixture.ts';
import { inFull } from '../../long.ts';
import { record } from '../record.ts';
import { makeAccount, type Account } from './account.ts';
import { startBareServer } from './bare_server.ts';
import { FINDINGS, ordinary, type Attack } from './attacks.ts';
import { LOOP_FINDINGS } from './loop_attacks.ts';

/**
 * Probes of each kind. The times of fewer are not meaningful, so the short form only asserts that the neighbour is
 * served and that no pod restarts.
 */
const IS_MEASURED = inFull() || process.env['PROBEYARD_HOSTILITY_TABLE'] !== undefined;
const COUNT = IS_MEASURED ? 300 : 5;
const TURNS = IS_MEASURED ? 3 : 1;
const PAUSE_MS = 25;
/** Per token, equal to its concurrency. */
const IN_FLIGHT = 10;
const MOST = 2;

/** Of each pod: how often it restarted, and since when it has been ready. A replica that was unready differs. */
type Health = Readonly<Record<string, string>>;

async function healthOf(c: Cluster): Promise<Health> {
  const pods = (
    await Promise.all([NAMESPACE, RUNNERS].map((namespace) => c.kube.listAll(PODS, { namespace })))
  ).flatMap(({ items }) => items);
  return Object.fromEntries(
    pods.map(({ metadata, status }) => [
      metadata.name,
      JSON.stringify([
        (status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0),
        metadata.namespace === NAMESPACE &&
          status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime,
      ]),
    ]),
  );
}

/**
 * Sends requests of both tokens at a steady rate, whatever their outcome, until it is stopped. All are aborted then.
 */
function sending(attack: Attack, account: Account): { sent(): number; stop(): Promise<void> } {
  const over = new AbortController();
  let sent = 0;
  const senders = account.tokens.map(async (token) => {
    const open = new Set<Promise<unknown>>();
    while (!over.signal.aborted) {
      if (open.size < (attack.atOnce ?? IN_FLIGHT)) {
        const one: Promise<unknown> = attack
          .send(token, sent++, over.signal)
          .catch(() => {})
          .finally(() => open.delete(one));
        open.add(one);
      }
      await delay(1000 / attack.perSecond, undefined, { signal: over.signal }).catch(() => {});
    }
    await Promise.all(open);
  });
  return {
    sent: () => sent,
    async stop() {
      over.abort();
      await Promise.all(senders);
    },
  };
}

describe('an account that attacks, and its neighbour', function () {
  this.timeout(600_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  for (const { id, title, make, beside = 'ordinary requests' } of [...FINDINGS, ...LOOP_FINDINGS]) {
    it(`${id}: ${title}; the neighbour's warm probes stay as fast as beside ${beside}`, async () => {
      const [attacker, neighbour] = await Promise.all([makeAccount(c), c.newToken(4)]);
      const origin = await c.origin(fixtures);
      const attack = await make(c, attacker.tokens[0]);
      const bare = beside === 'a bare server' ? await startBareServer() : undefined;
      const usual = bare ? attack.sentTo?.(bare.url) : beside === 'nothing' ? undefined : await ordinary(c, attack);
      assert.equal(usual === undefined, beside === 'nothing');
      const before = await healthOf(c);
      const times = { attack: [] as number[], ordinary: [] as number[] };
      const slow: { kind: string; ms: number; queueMs: number }[] = [];
      const sent = { attack: 0, ordinary: 0 };
      const probe = async (kind = 'first'): Promise<number> => {
        const { status, ms, text, json } = await c.probe(
          { url: `${origin.url}/tiny.mp4`, only: 'ffprobe' },
          { token: neighbour.token },
        );
        assert.equal(status, 200, `the neighbour was answered ${status}: ${text.slice(0, 200)}`);
        slow.push({ kind, ms, queueMs: json.metadata?.queue_time ?? 0 });
        return ms;
      };
      try {
        for (let index = 0; index < 5; index++) await probe();
        for (let turn = 0; turn < TURNS; turn++) {
          for (const [kind, of] of [
            ['ordinary', usual],
            ['attack', attack],
          ] as const) {
            const load = of && sending(of, attacker);
            try {
              for (let index = 0; index < COUNT / TURNS; index++) {
                times[kind].push(await probe(kind));
                await delay(PAUSE_MS);
              }
            } finally {
              await load?.stop();
              sent[kind] += load?.sent() ?? 0;
            }
          }
        }
      } finally {
        await attack.stop?.();
        await bare?.close();
        await attacker.end();
      }
      const [attacked, usually] = [summary(times.attack), summary(times.ordinary)];
      const after = await healthOf(c);
      const disturbed = Object.keys(after).filter((pod) => before[pod] !== undefined && after[pod] !== before[pod]);
      const words =
        `p50 ${attacked.p50.toFixed(0)} and p99 ${attacked.p99.toFixed(0)} ms beside ${sent.attack} ` +
        `such requests, ${usually.p50.toFixed(0)} and ${usually.p99.toFixed(0)} ms beside ` +
        `${usual ? `${sent.ordinary} ${bare ? 'to a bare server' : 'ordinary ones'}` : 'nothing'} (${COUNT} each); ` +
        `${disturbed.length} pods restarted or were unready`;
      console.log(`      ${id}: ${words}`);
      const slowest = slow.toSorted((a, b) => b.ms - a.ms).slice(0, 6);
      const said = slowest.map(({ kind, ms, queueMs }) => `${ms.toFixed(0)} (${kind}, ${queueMs} in the queue)`);
      console.log(`      slowest, in ms: ${said.join(', ')}`);
      const isMissed = IS_MEASURED && attacked.p99 > usually.p99 * MOST;
      record({
        group: 'neighbour',
        attempt: `${id}: ${title}`,
        expected: `the neighbour's p99 at most ${MOST} times that beside ${beside}, no pod restarted or unready`,
        got: isMissed ? `**missed**: ${words}` : words,
      });
      assert.deepEqual(disturbed, []);
      assert.ok(!isMissed, words);
    });
  }
});
