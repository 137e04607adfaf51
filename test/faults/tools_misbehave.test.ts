import assert from 'node:assert/strict';
import { hasNode } from '../cluster/broken_images.ts';
import type { Cluster } from '../cluster/fixture.ts';
import { VERSION, attack, install, uninstall } from '../hostility/taken_over.ts';
import { ERRORS } from '../../src/service/api/errors.ts';
import { settled, underLoad } from './load.ts';
import { wholeCluster } from './whole.ts';

/** A long time for what ends on its own, because a busy machine takes long to fill a pod's memory. */
const [SHORT, LONG] = [3_000, 30_000];
/** What the tool does, and the error that its caller gets. */
const WAYS: readonly { name: string; do: string; told: RegExp; got?: RegExp }[] = [
  { name: 'hangs', do: 'hang', told: /^ffprobe did not finish within 3000 ms/ },
  { name: 'floods its output', do: 'flood', told: /^ffprobe printed more than the output limit/ },
  // Its forks are refused at the process limit of the pod, and it runs to its end.
  { name: 'forks', do: 'fork||20000', told: /^$/, got: /^(?:EAGAIN|ENOMEM) after some$/ },
  { name: 'eats memory', do: 'memory', told: /^ffprobe ran out of memory/ },
  { name: 'ends by a signal', do: 'abort', told: /^ffprobe was ended by SIGABRT/ },
];

describe('tools hang, flood their output, fork, exhaust memory and end by a signal', function () {
  this.timeout(300_000);
  let c: Cluster;
  let token: string;

  before(async function () {
    if (!hasNode()) {
      console.log('    skipped: images can be brought to the local node alone, and it does not run here');
      this.skip();
    }
    c = await wholeCluster();
    ({ token } = await c.newToken());
    await install(c);
    // From here on every warm pod has it.
    assert.equal(
      (await attack(c, token, [{ name: 'runs', do: 'files' }], { more: { queue_timeout: 60_000 } })).answer.status,
      200,
    );
  });
  after(async () => {
    if (!hasNode()) return;
    await uninstall(c);
    await c.close();
  });

  /** A connection of a node without memory may be lost, and the caller is told so: then it asks once more. */
  const caused = async ({ name, do: what }: (typeof WAYS)[number]) => {
    const more = { ffprobe: { version: VERSION, timeout: what === 'hang' ? SHORT : LONG } };
    const first = await attack(c, token, [{ name, do: what }], { more });
    if (first.answer.status !== 404) return first;
    console.log(`      asked again, because ${name} was told: ${first.answer.text}`);
    return attack(c, token, [{ name, do: what }], { more });
  };

  it('each failure reaches its own caller alone, and all others succeed', async () => {
    const { told, total } = await underLoad(c, async () => {
      for (const way of WAYS) {
        const { answer, error, got } = await caused(way);
        assert.equal(answer.status, 200, `${way.name}: ${answer.text}`);
        assert.match(error, way.told, `${way.name}: ${answer.text.slice(0, 500)}`);
        if (way.got) assert.match(got[way.name] ?? '', way.got, `${way.name}: ${answer.text.slice(0, 500)}`);
      }
    });
    const others = told.filter(({ status }) => status !== 200);
    // Two cores are not enough for a fork bomb and an API that is never late: it may say so, to a few.
    assert.deepEqual(
      others.filter(({ error }) => error !== ERRORS.overloaded.text),
      [],
    );
    assert.ok(others.length <= total / 20, `${others.length} of ${total} were told to come again`);
    await settled(c);
  });
});
