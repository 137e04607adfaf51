/**
 * 1,000 webhooks of 20 tokens are due at once, while half of the receivers fail: 230 answer 500, 230 are unreachable,
 * 40 are silent for the whole 15 s. Two replicas deliver. The result is the delay of webhooks to healthy receivers.
 */
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { startStore } from '../../test/store/fixture.ts';
import { until } from '../../test/until.ts';
import { deliverer, endedRequest } from '../../test/webhooks/outbox.ts';
import { startReceiver } from '../../test/webhooks/receiver.ts';
import { one, type Measurement } from '../measurement.ts';
import { summary } from '../statistics.ts';

const KINDS = [
  ['good', 500, 10],
  ['500', 230, 4],
  ['absent', 230, 4],
  ['silent', 40, 2],
] as const;

export const webhooks: Measurement = {
  name: 'webhooks',
  title: '1,000 webhooks due at once while half the receivers fail, two replicas',
  async measure(report) {
    const fixture = await startStore();
    const receiver = await startReceiver();
    const absent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => absent.once('listening', resolve));
    const { port } = absent.address() as AddressInfo;
    absent.close();
    const arrived = new Map<string, number>();
    receiver.answer = (response, { path, headers }) => {
      if (path === '/good') arrived.set(String(headers['webhook-id']), performance.now());
      if (path !== '/silent') response.writeHead(path === '/500' ? 500 : 204).end();
    };
    const replicas = [];
    try {
      for (const [kind, count, tokens] of KINDS) {
        const rows = await fixture.sql<{ id: string }>(
          'insert into tokens (user_id, name, webhook_secret) select $1, $2, ' +
            `decode(md5('secret'), 'hex') from generate_series(1, $3) returning id`,
          [fixture.admin.userId, kind, tokens],
        );
        for (let index = 0; index < count; index++) {
          await endedRequest(fixture, kind === 'absent' ? `http://127.0.0.1:${port}/` : `${receiver.url}/${kind}`, {
            tokenId: Number(rows[index % tokens]!.id),
          });
        }
      }
      const began = performance.now();
      replicas.push(deliverer(fixture), deliverer(fixture));
      const [{ id: good }] = (await fixture.sql<{ id: string }>(
        `select min(id) id from tokens where name = 'good'`,
      )) as [{ id: string }];
      await until('all good ones are delivered', () => arrived.size === 500, 120_000);
      const delivered = performance.now() - began;
      report(`500 delivered after ${Math.round(delivered)} ms`);
      await until(
        'each failing one was tried',
        async () => (await fixture.sql(`select from webhook_outbox where attempts = '[]'`)).length === 0,
        180_000,
      );
      const tried = performance.now() - began;
      const [counted] = await fixture.sql<{ more: number }>(
        `select count(*)::int more from webhook_outbox where state = 'delivered' and jsonb_array_length(attempts) <> 1`,
      );
      report(`every one tried after ${Math.round(tried)} ms; sent twice: ${counted?.more ?? '?'}; first token ${good}`);
      const times = [...arrived.values()].map((at) => at - began);
      return [
        {
          name: 'webhooks-good',
          what: 'due → arrived, of the 500 whose receivers are well',
          unit: 'ms',
          values: summary(times),
        },
        { name: 'webhooks-all-good', what: 'all 500 of them delivered', unit: 'ms', values: one(delivered) },
        {
          name: 'webhooks-all-tried',
          what: 'every one of the 1,000 tried, the silent ones for 15 s each',
          unit: 'ms',
          values: one(tried),
        },
      ];
    } finally {
      // The silent receivers end here.
      await receiver.close();
      await Promise.all(replicas.map((replica) => replica.stop()));
      await fixture.close();
    }
  },
};
