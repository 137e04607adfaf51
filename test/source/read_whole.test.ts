import assert from 'node:assert/strict';
import { parseSource } from '../../src/source/address/parse.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { Cleanup, pattern, sendFile, startOrigin } from './origin.ts';

const cleanup = new Cleanup();
const body = pattern(3_000_000);

/** Work on one piece: as much as a hostile file makes. */
function busy(ms: number): void {
  const ends = performance.now() + ms;
  while (performance.now() < ends);
}

describe('a source that is read whole by the agent', function () {
  this.timeout(20_000);
  afterEach(() => cleanup.run());

  it('leaves timers their turn, also where all of it is cached', async () => {
    const origin = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response)));
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }] }));
    const job = cleanup.add(proxy.open({ source: parseSource(`${origin.url}/a.bin`), limits: { maxBytes: 1e10 } }));
    const parts: Buffer[] = [];
    await job.readWhole('a', (bytes) => parts.push(Buffer.from(bytes)));
    assert.ok(Buffer.concat(parts).equals(body));
    const { requests } = job.stats();
    let [pieces, turns] = [0, 0];
    const timer = setInterval(() => (turns += 1), 1);
    await job.readWhole('a', () => {
      pieces += 1;
      busy(6);
    });
    clearInterval(timer);
    assert.equal(job.stats().requests, requests);
    assert.ok(pieces > 10 && turns >= pieces / 2, `${turns} turns of a timer, ${pieces} pieces`);
  });
});
