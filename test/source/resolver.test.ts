import assert from 'node:assert/strict';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { makeGuard } from '../../src/source/address/guard.ts';
import {
  type LocalNames,
  type Lookup,
  makeResolver,
  readLocalNames,
  type ResolverOptions,
} from '../../src/source/address/resolver.ts';
import { startDns, type Answer, type DnsServer, type Question } from './dns_server.ts';
import { Cleanup } from './origin.ts';

const cleanup = new Cleanup();
const nothing: LocalNames = { hosts: new Map(), search: [] };

async function setup(
  reply: (question: Question) => Answer | readonly Answer[] | undefined,
  options: ResolverOptions = {},
): Promise<{ look: Lookup; dns: DnsServer }> {
  const dns = cleanup.add(await startDns(reply));
  return { dns, look: makeResolver({ servers: [dns.address], local: () => nothing, ...options }) };
}
const v4 = (...addresses: string[]) => addresses.map((address) => ({ address, family: 4 as const }));
const only4 =
  (...records: Answer['records'] & {}) =>
  ({ type }: Question): Answer =>
    type === 'A' ? { records } : {};

describe('resolver', function () {
  this.timeout(20_000);
  afterEach(() => cleanup.run());

  it('queries both families in parallel and returns both', async () => {
    const { look, dns } = await setup(({ type }) => ({
      records: type === 'A' ? ['93.184.216.34'] : ['2606:2800:220:1::1'],
    }));
    assert.deepEqual(await look('Origin.Example.', false), [
      { address: '93.184.216.34', family: 4 },
      { address: '2606:2800:220:1::1', family: 6 },
    ]);
    assert.deepEqual(dns.asked.map(({ name, type }) => `${name} ${type}`).toSorted(), [
      'origin.example A',
      'origin.example AAAA',
    ]);
  });

  it('sends no query for a literal address, for localhost or for an invalid name', async () => {
    const { look, dns } = await setup(() => ({}));
    assert.deepEqual(await look('8.8.8.8', false), v4('8.8.8.8'));
    assert.deepEqual(await look('2606:4700::1', false), [{ address: '2606:4700::1', family: 6 }]);
    for (const name of ['localhost', 'LOCALHOST.', 'a.localhost'])
      assert.deepEqual((await look(name, true))[0], { address: '127.0.0.1', family: 4 });
    for (const name of ['', '.', 'a..b', `${'a'.repeat(64)}.example`, `${'abc.'.repeat(70)}example`])
      await assert.rejects(look(name, false), { reason: 'dns', message: /: not a valid host name$/ });
    assert.deepEqual(dns.asked, []);
  });

  for (const [what, reply, why] of [
    ['a name that does not exist', () => ({ code: 3 }), 'it does not exist (NXDOMAIN)'],
    ['a name without an address', () => ({}), 'it has no address'],
    ['a server that fails', () => ({ code: 2 }), 'the name server failed (SERVFAIL)'],
    ['a server that refuses', () => ({ code: 5 }), 'the name server refused to answer (REFUSED)'],
    [
      'a server that fails for one family',
      ({ type }: Question) => ({ code: type === 'A' ? 0 : 2 }),
      'the name server failed (SERVFAIL)',
    ],
    [
      'a CNAME loop',
      ({ name }: Question) => ({
        records: [
          [name, 'b.example'],
          ['b.example', name],
        ] as const,
      }),
      'it has no address',
    ],
    ['a silent server', () => undefined, 'no answer in time'],
    ['answers with another id', ({ id }: Question) => ({ records: ['8.8.8.8'], id: id ^ 1 }), 'no answer in time'],
  ] as const satisfies readonly (readonly [string, (question: Question) => Answer | undefined, string])[]) {
    it(`${what}: ${why}`, async () => {
      const { look } = await setup(reply, { deadlineMs: 700 });
      await assert.rejects(look('n1.example', false), {
        code: 'origin-unreachable',
        reason: 'dns',
        message: `cannot resolve host name n1.example: ${why}`,
      });
    });
  }

  it('follows a chain of CNAMEs to its address', async () => {
    const { look } = await setup(({ name, type }) =>
      type === 'A' ? { records: [[name, 'cdn.example'], '8.8.4.4'] } : { records: [[name, 'cdn.example']] },
    );
    assert.deepEqual(await look('n1.example', false), v4('8.8.4.4'));
  });

  it('accepts the answer with its own id after spoofed ones', async () => {
    const { look } = await setup(({ id, type }) => [
      { records: ['6.6.6.6'], id: (id + 1) & 0xffff },
      { records: ['6.6.6.6'], id: id ^ 0x8000 },
      type === 'A' ? { records: ['8.8.8.8'], delayMs: 20 } : {},
    ]);
    assert.deepEqual(await look('n1.example', false), v4('8.8.8.8'));
  });

  it('retries over TCP if the answer was truncated', async () => {
    const { look, dns } = await setup(({ over, type }) =>
      over === 'udp' ? { truncated: true } : type === 'A' ? { records: ['8.8.8.8'] } : {},
    );
    assert.deepEqual(await look('n1.example', false), v4('8.8.8.8'));
    assert.ok(dns.asked.some(({ over }) => over === 'tcp'));
  });

  it('keeps the order of the answers, without duplicates, at most eight per family', async () => {
    const many = Array.from({ length: 200 }, (_, at) => `8.8.${(199 - at) >> 3}.${at & 7}`);
    const { look } = await setup(({ over, type }) =>
      over === 'udp' ? { truncated: true } : type === 'A' ? { records: [many[0]!, ...many] } : {},
    );
    assert.deepEqual(await look('n1.example', false), v4(...many.slice(0, 8)));
  });

  it('does not wait for a family without an answer once it has the other', async () => {
    const { look } = await setup(({ type }) => (type === 'A' ? { records: ['8.8.8.8'] } : undefined), {
      deadlineMs: 15_000,
    });
    const began = performance.now();
    assert.deepEqual(await look('n1.example', false), v4('8.8.8.8'));
    assert.ok(performance.now() - began < 10_000);
  });

  it('sends one query for connections that open at once', async () => {
    const { look, dns } = await setup(only4('8.8.8.8'));
    await Promise.all(Array.from({ length: 6 }, () => look('n1.example', false)));
    assert.equal(dns.asked.length, 2);
  });

  it('limits look-ups in flight, counts them until they end, and ends each at its deadline', async () => {
    let quiet = true;
    const deadlineMs = 600;
    const askedAt = new Map<string, number>();
    const { look } = await setup(
      (question) => {
        if (!askedAt.has(question.name)) askedAt.set(question.name, performance.now());
        return quiet ? undefined : only4('8.8.8.8')(question);
      },
      { mostAtOnce: 2, deadlineMs },
    );
    const began = performance.now();
    const looks = Array.from({ length: 5 }, (_, at) => look(`n${at}.example`, false));
    const settled = Promise.allSettled(looks);
    await looks[0]?.catch(() => {});
    // The third may have been asked in the moment in which the first ended.
    assert.deepEqual([...askedAt.keys()].slice(0, 2).toSorted(), ['n0.example', 'n1.example']);
    const third = [...askedAt.values()][2] ?? Infinity;
    // A timer may be a millisecond early.
    assert.ok(third - began >= deadlineMs - 2, `the third was asked after ${third - began} ms`);
    const ends = await settled;
    assert.ok(ends.every(({ status }) => status === 'rejected'));
    const reasons = ends.map((end) =>
      end.status === 'rejected' ? (end.reason as Error).message.replace(/^.*: /, '') : '',
    );
    assert.deepEqual(reasons.slice(0, 2), ['no answer in time', 'no answer in time']);
    assert.ok(
      reasons
        .slice(2)
        .every((reason) => reason === 'too many look-ups are in progress' || reason === 'no answer in time'),
      reasons.join(),
    );
    quiet = false;
    assert.deepEqual(await look('after.example', false), v4('8.8.8.8'));
  });

  it('silent look-ups block none of the threads that compression and passwords need', async () => {
    const seen = new Set<string>();
    const all = Promise.withResolvers<void>();
    const { look } = await setup(
      ({ name }) => {
        if (seen.add(name).size === 40) all.resolve();
        return undefined;
      },
      { deadlineMs: 15_000 },
    );
    let ended = 0;
    void Promise.allSettled(
      Array.from({ length: 40 }, (_, at) =>
        look(`n${at}.example`, false).finally(() => {
          ended++;
        }),
      ),
    );
    await all.promise;
    for (let i = 0; i < 8; i++) await promisify(gzip)(Buffer.alloc(100_000));
    assert.equal(ended, 0, 'a thread of the pool was free only after a look-up had ended');
  });
});

describe('resolver: names given by the operator', () => {
  afterEach(() => cleanup.run());
  const local = (): LocalNames =>
    readLocalNames(
      '127.0.0.1 localhost\n10.9.0.1 nas nas.lan # the old one\n10.9.0.2 NAS\nfd12::9 six\nx y\n',
      'nameserver 1.1.1.1\nsearch py.svc.cluster.local svc.cluster.local. cluster.local\noptions ndots:5\n',
    );

  it("are completed by the search domains; a caller's names never are", async () => {
    const { look, dns } = await setup(
      ({ name, type }) =>
        name === 'minio.media.svc.cluster.local' && type === 'A' ? { records: ['10.96.0.7'] } : { code: 3 },
      { local },
    );
    for (const name of ['minio.media', 'minio.media.svc', 'minio.media.svc.cluster.local'])
      assert.deepEqual(await look(name, true), v4('10.96.0.7'), name);
    dns.asked.length = 0;
    for (const name of ['minio.media', 'minio.media.svc', 'minio.media.'])
      await assert.rejects(look(name, name.endsWith('.')), { reason: 'dns', message: /does not exist/ });
    assert.deepEqual(new Set(dns.asked.map(({ name }) => name)), new Set(['minio.media', 'minio.media.svc']));
    assert.deepEqual(await look('minio.media.svc.cluster.local', false), v4('10.96.0.7'));
  });

  it('resolve as written first, and without a dot by the search domains first', async () => {
    const { look, dns } = await setup(
      ({ name, type }) =>
        type === 'A' ? { records: [name === 'minio.py.svc.cluster.local' ? '10.96.0.8' : '10.96.0.9'] } : {},
      { local },
    );
    assert.deepEqual(await look('minio.media', true), v4('10.96.0.9'));
    assert.deepEqual(await look('minio', true), v4('10.96.0.8'));
    assert.ok(dns.asked.every(({ name }) => name === 'minio.media' || name === 'minio.py.svc.cluster.local'));
  });

  it("are found in the hosts file; a caller's names never are", async () => {
    const { look, dns } = await setup(() => ({ code: 3 }), { local });
    assert.deepEqual(await look('nas', true), v4('10.9.0.1', '10.9.0.2'));
    assert.deepEqual(await look('six.', true), [{ address: 'fd12::9', family: 6 }]);
    assert.equal(dns.asked.length, 0);
    await assert.rejects(look('nas', false), { reason: 'dns' });
  });

  it('resolve although the server is silent for the short form', async () => {
    const { look } = await setup(
      ({ name, type }) =>
        name === 'minio.media'
          ? undefined
          : name.endsWith('.svc.cluster.local') && !name.includes('.py.') && type === 'A'
            ? { records: ['10.96.0.7'] }
            : { code: 3 },
      { local },
    );
    assert.deepEqual(await look('minio.media', true), v4('10.96.0.7'));
  }).timeout(20_000);

  it('are those of the allow list and the S3 endpoint, and no others', async () => {
    const asked: [string, boolean][] = [];
    const lookup: Lookup = async (name, ours) => {
      asked.push([name, ours]);
      return v4('10.96.0.7');
    };
    const guard = makeGuard({
      allow: [{ host: 'minio.media', port: 9000 }, { host: '*.store' }, { cidr: '10.96.0.0/16' }],
      ownHosts: ['S3.media'],
      lookup,
    });
    for (const name of [
      'minio.media',
      'Minio.Media.',
      'a.store',
      's3.media',
      'store',
      'nats.probeyard',
      'xminio.media',
    ])
      await guard.resolveAndCheck(name, 9000);
    assert.deepEqual(asked, [
      ['minio.media', true],
      ['Minio.Media.', true],
      ['a.store', true],
      ['s3.media', true],
      ['store', false],
      ['nats.probeyard', false],
      ['xminio.media', false],
    ]);
  });
});
