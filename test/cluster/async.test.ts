/** Requests without a held connection, and cancelled requests, on the cluster. */
import assert from 'node:assert/strict';
import type { Standing } from '../../src/service/api/probe/answer_schemas.ts';
import { cluster, eventually, type Answer, type Cluster } from './fixture.ts';

const ASYNC = { Prefer: 'respond-async' };

describe('respond-async on the cluster', function () {
  this.timeout(120_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  const standing = async (id: string, token: string): Promise<Standing> =>
    (await c.get(`/v1/probe/${id}`, token)).json as unknown as Standing;
  const idOf = ({ json, text }: Answer): string => json.metadata?.request_id ?? assert.fail(text);
  const cancel = (id: string, token: string) => c.probe({}, { token, path: `/v1/probe/${id}/cancel` });
  const hanging = () => c.origin((_request, response) => void setTimeout(() => response.destroy(), 60_000).unref());

  it('responds before the source is read, and shows the steps until the end', async () => {
    const { token } = await c.newToken(1);
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const origin = await c.origin(async (_request, response) => {
      await held;
      response.writeHead(404).end();
    });
    const started = await c.probe({ url: `${origin.url}/a.mp4` }, { token, headers: ASYNC });
    assert.deepEqual([started.status, started.headers.get('preference-applied')], [202, 'respond-async']);
    const first = idOf(started);
    const running = await eventually('it runs, and its source is read', 30, async () => {
      const now = await standing(first, token);
      return origin.requests.length > 0 && now.state === 'running' && now;
    });
    assert.equal(running.waiting, null);
    const { queued, admitted, running: began } = running.steps;
    assert.ok(queued <= admitted! && admitted === began, JSON.stringify(running.steps));

    const second = idOf(await c.probe({ url: `${origin.url}/b.mp4` }, { token, headers: ASYNC }));
    const waiting = await eventually('it says why it waits', 30, async () => {
      const now = await standing(second, token);
      return now.waiting ? now : undefined;
    });
    assert.deepEqual(
      [waiting.state, waiting.waiting?.reason, waiting.steps.admitted],
      ['queued', 'TokenAtLimit', null],
    );
    release();
    for (const id of [first, second])
      await eventually('it has ended', 60, async () => (await c.get(`/v1/probe/${id}`, token)).status === 404);
  });

  it('a cancelled request ends with 499, running or waiting, and its slot is free', async () => {
    const { id: tokenId, token } = await c.newToken(1);
    const origin = await hanging();
    const running = idOf(await c.probe({ url: `${origin.url}/a.mp4` }, { token, headers: ASYNC }));
    await eventually('it runs', 30, () => origin.requests.length > 0);
    const waiting = idOf(await c.probe({ url: `${origin.url}/b.mp4` }, { token, headers: ASYNC }));
    for (const id of [waiting, running]) {
      assert.equal((await cancel(id, token)).status, 202);
      const ended = await eventually('it has ended', 30, async () => {
        const answer = await c.get(`/v1/probe/${id}`, token);
        return answer.status === 202 ? undefined : answer;
      });
      assert.deepEqual([ended.status, ended.json], [499, { error: 'the request was cancelled' }]);
      assert.equal((await cancel(id, token)).status, 202);
    }
    const media = await c.origin();
    const next = await c.probe({ url: `${media.url}/tiny.mp4`, queue_timeout: 20_000 }, { token });
    assert.equal(next.status, 200, next.text);
    assert.equal((await cancel(idOf(next), token)).status, 409);
    assert.equal(await c.sql(`select count(*) from requests where token_id = ${tokenId} and status = 499`), '2');
  });
});
