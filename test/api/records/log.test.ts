import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { logDetail, logList } from '../../../src/service/api/records/log_endpoints.ts';
import { uuidv7 } from '../../../src/platform/store/uuid.ts';
import type { CloseInput, OpenInput } from '../../../src/platform/store/records.ts';
import { aCloseInput, anOpenInput } from '../../store/fixture.ts';
import { startRecord, type RecordFixture } from './record_fixture.ts';
import { packText, type TextBody } from '../../result/text_body.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

describe('management: log', function () {
  this.timeout(60_000);
  let fixture: RecordFixture;
  let owner: { userId: number; tokenId: number; token: string };
  let sub: typeof owner;
  let stranger: typeof owner;
  let admin: typeof owner;
  let now: number;
  /** Request ids by the names that the tests use. */
  const ids: Record<string, string> = {};

  async function ended(
    name: string,
    who: typeof owner,
    ago: number,
    open: Partial<OpenInput> = {},
    close: Partial<CloseInput> = {},
  ): Promise<void> {
    const time = now - ago;
    const opened = anOpenInput(fixture.stored.store, {
      id: uuidv7(time),
      submittedAt: new Date(time),
      userId: who.userId,
      tokenId: who.tokenId,
      ...open,
    });
    await fixture.stored.store.openRequest(opened);
    await fixture.stored.store.closeRequest(aCloseInput(opened, { body: null, ...close }));
    ids[name] = opened.id;
  }
  const tool = (name: 'ffprobe' | 'mediainfo', success: boolean) => ({
    name,
    version: '1',
    success,
    durationMs: 1,
    usageMs: 1,
  });
  const names = (body: { log: { id: string }[] }) =>
    body.log.map(({ id }) => Object.entries(ids).find(([, known]) => known === id)?.[0]);
  const list = async (query: string, who = owner) => {
    const { status, body } = await fixture.get(`media/log?${query}`, who.token);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };

  before(async () => {
    fixture = await startRecord([logList, logDetail]);
    owner = await fixture.newUser();
    sub = await fixture.newUser({ role: 'sub', parent: owner.userId });
    stranger = await fixture.newUser();
    admin = await fixture.newUser({ role: 'admin' });
    now = Math.floor(fixture.stored.store.clock.now());
    await ended(
      'a',
      owner,
      1 * MINUTE,
      { display: 'https://x.example.org/Alpha_100%.mp4' },
      { tools: [tool('ffprobe', true), tool('mediainfo', true)] },
    );
    await ended(
      'b',
      owner,
      2 * MINUTE,
      { display: 'https://x.example.org/beta.mp4' },
      { state: 'with-errors', tools: [tool('ffprobe', true), tool('mediainfo', false)] },
    );
    await ended(
      'c',
      sub,
      3 * MINUTE,
      { display: 'https://x.example.org/gamma.mp4', kind: 'msv' },
      { state: 'error', status: 404, tools: [], error: `${'e'.repeat(300)} and more` },
    );
    await ended(
      'd',
      owner,
      4 * MINUTE,
      { display: 'https://x.example.org/alpha1000.mp4', kind: 'c2pa' },
      { tools: [] },
    );
    await ended('old', owner, 3 * DAY, {}, { tools: [tool('ffprobe', false)], state: 'error' });
    await ended('other', stranger, 5 * MINUTE);
    // Still running, so not in the log.
    await fixture.stored.store.openRequest(
      anOpenInput(fixture.stored.store, { userId: owner.userId, tokenId: owner.tokenId }),
    );
  });
  after(() => fixture.stop());

  it('shows the last day, newest first, of the caller and their sub-users', async () => {
    const body = await list('');
    assert.deepEqual(names(body), ['a', 'b', 'c', 'd']);
    assert.deepEqual(body.pagination, { count: 4, limit: 10, page: 1, total: 4 });
    assert.deepEqual(body.sort, { field: 'send', order: 'desc' });
    assert.deepEqual(body.log[1], {
      id: ids['b'],
      send: new Date(now - 2 * MINUTE).toISOString(),
      type: 'file',
      status: 'with-errors',
      'status-ffprobe': 'success',
      'status-mediainfo': 'error',
      'status-probe-report': 'skipped',
      'status-policy': 'skipped',
      url: 'https://x.example.org/beta.mp4',
      'user-id': owner.userId,
      'token-id': owner.tokenId,
      'decoded-seconds': 0,
    });
    assert.equal(body.log[2]!.error, 'e'.repeat(300), 'why it failed, its beginning');
    assert.equal(Date.parse(body.filter.created.to) - Date.parse(body.filter.created.from), DAY);
  });

  for (const [query, expected] of [
    ['type=msv', ['c']],
    ['type=msv&type=c2pa', ['c', 'd']],
    ['status=error', ['c']],
    ['status=success&status=with-errors', ['a', 'b', 'd']],
    ['type=c2pa&status=error', []],
    ['status-ffprobe=success', ['a', 'b']],
    ['status-ffprobe=skipped', ['c', 'd']],
    ['status-mediainfo=error', ['b']],
    ['status-probe-report=skipped&type=file', ['a', 'b']],
    ['status-ffprobe=success&status-mediainfo=success', ['a']],
    ['url=ALPHA', ['a', 'd']],
    ['url=alpha_100%25', ['a']],
    ['url=%25', ['a']],
    ['url=_', ['a']],
    [String.raw`url=%5C`, []],
    ['url=.mp4&type=file', ['a', 'b']],
    [`send[from]=1999-01-01`, ['a', 'b', 'c', 'd', 'old']],
    ['sort[order]=asc', ['d', 'c', 'b', 'a']],
    ['sort[field]=url&sort[order]=asc', ['a', 'd', 'b', 'c']],
    ['sort[field]=status&sort[order]=asc', ['c', 'a', 'd', 'b']],
    ['sort[field]=status-ffprobe&sort[order]=desc', ['a', 'b', 'c', 'd']],
    ['sort[field]=status-mediainfo&sort[order]=asc', ['b', 'c', 'd', 'a']],
    ['sort[field]=user-id&sort[order]=desc', ['c', 'a', 'b', 'd']],
    ['sort[field]=status-probe-report', ['a', 'b', 'c', 'd']],
  ] as const) {
    it(`filters and sorts: ${query}`, async () => {
      const body = await list(query);
      assert.deepEqual(names(body), expected);
      assert.equal(body.pagination.total, expected.length);
    });
  }

  it('shows the worst of several runs of a tool', async () => {
    const comparing = await fixture.newUser();
    const run = (version: string, success: boolean) => ({ ...tool('ffprobe', success), version });
    for (const [name, tools] of [
      ['both', [run('4.4', true), run('9.0', true)]],
      ['first', [run('4.4', false), run('9.0', true)]],
      ['last', [run('4.4', true), run('9.0', false), tool('mediainfo', true)]],
    ] as const)
      await ended(name, comparing, 5 * DAY, { kind: 'compare' }, { state: 'with-errors', tools: [...tools] });
    const states = async (query: string) => {
      const body = (await list(`send[from]=1999-01-01&${query}`, comparing)) as { log: Record<string, string>[] };
      return Object.fromEntries(names(body as never).map((name, at) => [name, body.log[at]!['status-ffprobe']]));
    };
    assert.deepEqual(await states(''), { both: 'success', first: 'error', last: 'error' });
    assert.deepEqual(await states('status-ffprobe=error'), { first: 'error', last: 'error' });
    assert.deepEqual(await states('status-ffprobe=success'), { both: 'success' });
  });

  it('filters by time: from is inclusive, to is exclusive', async () => {
    const at = (ago: number) => new Date(now - ago).toISOString();
    assert.deepEqual(names(await list(`send[from]=${at(3 * MINUTE)}&send[to]=${at(MINUTE)}`)), ['b', 'c']);
    assert.deepEqual(names(await list(`send[from]=${at(3 * MINUTE + 1)}&send[to]=${at(MINUTE - 1)}`)), ['a', 'b', 'c']);
    // Another time zone, with its plus sign not encoded.
    assert.deepEqual(
      names(await list(`send[to]=${new Date(now - 2 * MINUTE + 2 * 3_600_000).toISOString().replace('Z', '+02:00')}`)),
      ['c', 'd'],
    );
  });

  it('filters by user, token and id, and paginates', async () => {
    assert.deepEqual(names(await list(`user-id=${sub.userId}`)), ['c']);
    assert.deepEqual(names(await list(`token-id=${owner.tokenId}`)), ['a', 'b', 'd']);
    assert.deepEqual(names(await list(`token-id=${owner.tokenId}&token-id=${sub.tokenId}`)), ['a', 'b', 'c', 'd']);
    assert.deepEqual(names(await list(`token-id=${owner.tokenId}&user-id=${sub.userId}`)), []);
    assert.deepEqual(names(await list(`request=${ids['b']}`)), ['b']);
    assert.deepEqual(names(await list(`request=${ids['other']}`)), []);
    const second = await list('pagination[limit]=3&pagination[page]=2');
    assert.deepEqual([names(second), second.pagination], [['d'], { count: 1, limit: 3, page: 2, total: 4 }]);
    assert.deepEqual((await list('pagination[page]=1000000')).log, []);
    assert.equal((await list('pagination[limit]=5000')).pagination.limit, 1000);
  });

  const LOWER_BOUNDS: [query: string, expected: { log: string[]; total: number; 'total-is'?: string }][] = [
    ['url=mp4&pagination[limit]=1', { log: ['a'], total: 2, 'total-is': 'at-least' }],
    ['url=mp4&pagination[limit]=4', { log: ['a', 'b', 'c', 'd'], total: 4, 'total-is': 'exact' }],
    ['status-ffprobe=success&pagination[limit]=1&pagination[page]=2', { log: ['b'], total: 2, 'total-is': 'exact' }],
    ['url=nowhere', { log: [], total: 0, 'total-is': 'exact' }],
    // Nothing on a page says nothing of those before it.
    ['url=mp4&pagination[page]=7', { log: [], total: 4, 'total-is': 'exact' }],
    // The rollups count this.
    ['pagination[limit]=1', { log: ['a'], total: 4, 'total-is': 'exact' }],
  ];
  for (const [query, expected] of LOWER_BOUNDS)
    it(`a lower bound of the total: ${query}`, async () => {
      const body = await list(`${query}&pagination[total]=at-least`);
      const { total, 'total-is': totalIs } = body.pagination;
      assert.deepEqual({ log: names(body), total, 'total-is': totalIs }, expected);
    });
  it('the total of a filter that no rollup counts is exact unless a lower bound is requested', async () => {
    const { pagination } = await list('url=mp4&pagination[limit]=1&pagination[total]=exact');
    assert.deepEqual(pagination, { count: 1, limit: 1, page: 1, total: 4 });
  });

  it('an administrator sees everyone; a user sees nothing of another account, whatever the filter', async () => {
    assert.deepEqual(names(await list('', admin)), ['a', 'b', 'c', 'd', 'other']);
    assert.deepEqual(names(await list(`user-id=${stranger.userId}`, admin)), ['other']);
    assert.deepEqual(names(await list(`token-id=${stranger.tokenId}`, admin)), ['other']);
    assert.deepEqual(names(await list('', sub)), ['c']);
    for (const [who, filter] of [
      [owner, `user-id=${stranger.userId}`],
      [owner, `token-id=${stranger.tokenId}`],
      [sub, `user-id=${owner.userId}`],
      [owner, 'user-id=999999'],
      [owner, 'user-id=0'],
      [admin, 'user-id=999999'],
      [admin, 'token-id=999999'],
      [owner, `user-id=${owner.userId}&user-id=${stranger.userId}`],
    ] as const) {
      assert.deepEqual(await fixture.get(`media/log?${filter}`, who.token), {
        status: 404,
        body: { code: 40400, context: {}, error: 'not found', status: 'Not Found' },
      });
    }
    for (const [who, name] of [
      [owner, 'other'],
      [sub, 'a'],
      [stranger, 'a'],
    ] as const)
      assert.equal((await fixture.get(`media/log/${ids[name]}`, who.token)).status, 404);
    for (const [who, name] of [
      [owner, 'c'],
      [admin, 'other'],
      [sub, 'c'],
    ] as const)
      assert.equal((await fixture.get(`media/log/${ids[name]}`, who.token)).status, 200);
  });

  for (const [query, field] of [
    ['type=video', 'type'],
    ['status=open', 'status'],
    ['status-ffprobe=ok', 'status-ffprobe'],
    ['send[from]=yesterday', 'send.from'],
    ['send[from]=2026-02-30', 'send.from'],
    ['send[to]=2026-01-01T25:00:00Z', 'send.to'],
    ['send[from]=2026-02-02&send[to]=2026-02-01', 'send.from'],
    ['user-id=me', 'user-id'],
    ['user-id=-1', 'user-id'],
    ['token-id=1.5', 'token-id'],
    ['request=1', 'request'],
    ['pagination[page]=0', 'pagination.page'],
    ['pagination[limit]=0', 'pagination.limit'],
    ['pagination[total]=some', 'pagination.total'],
    ['sort[field]=id', 'sort.field'],
    ['sort[order]=up', 'sort.order'],
    ['urls=x', 'urls'],
  ] as const) {
    it(`refuses ${query}`, async () => {
      const { status, body } = await fixture.get(`media/log?${query}`, owner.token);
      assert.equal(status, 400);
      assert.deepEqual([body.code, body.status], [40000, 'Bad Request']);
      assert.match(body.error, new RegExp(String.raw`^${field.replace('.', String.raw`\.`)}`));
    });
  }

  it('quotes and SQL in a filter match literally, and U+0000 is a 400', async () => {
    for (const text of [
      `'; drop table requests; --`,
      `' or '1'='1`,
      '%27',
      '"',
      String.raw`\'`,
      '$1',
      'x'.repeat(8192),
    ])
      assert.deepEqual((await list(`url=${encodeURIComponent(text)}`)).log, []);
    assert.equal((await fixture.get(`media/log?url=a%00b`, owner.token)).status, 400);
  });

  describe('one request', () => {
    const output = '{"streams": []}\n';
    const result: TextBody = {
      tools: [
        {
          name: 'ffprobe',
          version: '7.0',
          success: true,
          durationMs: 1,
          usageMs: 1,
          exitCode: 0,
          signal: null,
          format: 'json',
          output,
        },
        {
          name: 'mediainfo',
          version: '24.06',
          success: true,
          durationMs: 1,
          usageMs: 1,
          exitCode: 0,
          signal: null,
          format: 'text',
          output: '<x/>',
        },
      ],
      ioUsage: 1,
    };

    it('has the requested options and the output of each tool, byte for byte', async () => {
      await ended(
        'whole',
        owner,
        10 * DAY,
        {
          request: {
            options: { inject_json: false, mediainfo: { output: 'XML' } },
            response: { shown: ['ffprobe'], injectOutput: false, injectJson: false },
          },
        },
        { body: packText(result).packed },
      );
      const { status, body } = await fixture.get(`media/log/${ids['whole']}`, owner.token);
      assert.equal(status, 200);
      assert.deepEqual(JSON.parse(body.request), {
        url: 'https://example.org/a.mp4',
        inject_json: false,
        mediainfo: { output: 'XML' },
      });
      assert.deepEqual(
        [
          body['ffprobe-response'],
          body['ffprobe-response-type'],
          body['mediainfo-response'],
          body['mediainfo-response-type'],
          body['probe-report-response'],
          body['probe-report-response-type'],
          body['c2pa-response'],
          body['msv-response'],
        ],
        [output, 'json', '<x/>', 'XML', undefined, undefined, undefined, undefined],
      );
      assert.equal(body.id, ids['whole']);
      assert.deepEqual([body.error, body['tool-errors'], body['tool-exit-codes']], [undefined, {}, {}]);
      const [send, admitted, recorded] = [body.send, body.admitted, body.ended].map((time) => Date.parse(time));
      assert.ok(send! <= admitted! && admitted! <= recorded!, `${send} ${admitted} ${recorded}`);
    });

    it('tells why the request and each of its tools failed', async () => {
      const why = 'moov atom not found';
      const tools = [{ ...result.tools[0]!, success: false, exitCode: 1, output: null, error: why }, result.tools[1]!];
      await ended('broken', owner, 10 * DAY, {}, { error: why, body: packText({ ...result, tools }).packed });
      const { body } = await fixture.get(`media/log/${ids['broken']}`, owner.token);
      assert.deepEqual(
        [body.error, body['tool-errors'], body['tool-exit-codes']],
        [why, { ffprobe: why }, { ffprobe: 1 }],
      );
    });

    it('has no responses if the result was deleted or never existed', async () => {
      await fixture.stored.sql('delete from envelopes where id = $1', [ids['whole']]);
      for (const name of ['whole', 'c']) {
        const { status, body } = await fixture.get(`media/log/${ids[name]}`, owner.token);
        assert.equal(status, 200);
        for (const member of ['ffprobe-response', 'ffprobe-response-type']) assert.ok(!(member in body), member);
      }
    });

    it('is 404 if it is unknown, still running or has an invalid id', async () => {
      const open = anOpenInput(fixture.stored.store, { userId: owner.userId });
      await fixture.stored.store.openRequest(open);
      for (const id of [randomUUID(), open.id, 'x', '%00', `${ids['a']}'`])
        assert.equal((await fixture.get(`media/log/${id}`, owner.token)).status, 404, id);
    });

    it('created with kubectl, with an id without a time, is found', async () => {
      await ended('hand', owner, MINUTE, { id: randomUUID() });
      const [row] = await fixture.stored.sql<{ id: string }>(
        `select id from requests where substr(id::text, 15, 1) = '4'`,
      );
      assert.equal((await fixture.get(`media/log/${String(row?.id).toUpperCase()}`, owner.token)).status, 200);
    });
  });
});
