import assert from 'node:assert/strict';
import { makeGuard, type Address } from '../../src/source/address/guard.ts';
import { random } from './random.ts';

const refused = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '169.254.170.2',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '192.168.255.255',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '168.63.129.16',
  '::',
  '::1',
  '0:0:0:0:0:0:0:1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '0:0:0:0:0:ffff:7f00:1',
  '::FFFF:10.0.0.1',
  '::ffff:169.254.169.254',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::8.8.8.8',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  '2001:2::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:808:808::1',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00::1',
  'fd00:ec2::254',
  'fd20:ce::254',
  'fe80::1',
  'fe80::1%eth0',
  'febf::1',
  'fec0::1',
  'ff02::1',
  '4000::1',
  '2620:4f:8000::1',
  '',
  'example.com',
  '1.2.3',
  '0x7f.1',
  '2130706433',
  '127.1',
  '017700000001',
  '8.8.8.8%eth0',
  '::ffff:8.8.8.8%1',
  ' 8.8.8.8',
  '8.8.8.8 ',
];
const ok = [
  '8.8.8.8',
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '::ffff:8.8.8.8',
  '2606:4700:4700::1111',
  '2a00:1450:4001::1',
  '2001:4860:4860::8888',
  '2001:200::1',
];

const answers =
  (...list: string[]) =>
  async (): Promise<Address[]> =>
    list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

describe('guard.check', () => {
  const guard = makeGuard();
  for (const address of refused) it(`refuses ${address}`, () => assert.equal(guard.check(address), 'refused'));
  for (const address of ok) it(`allows ${address}`, () => assert.equal(guard.check(address), 'ok'));

  it('refuses the cluster ranges even if they are public', () => {
    const cluster = makeGuard({ denyExtra: ['8.8.0.0/16', '2a00:1450::/32'] });
    assert.equal(cluster.check('8.8.4.4'), 'refused');
    assert.equal(cluster.check('::ffff:8.8.4.4'), 'refused');
    assert.equal(cluster.check('2a00:1450::5'), 'refused');
    assert.equal(cluster.check('8.9.0.1'), 'ok');
  });

  it('allows a listed range and port, and nothing else', () => {
    const some = makeGuard({
      allow: [{ cidr: '10.1.2.3/32', port: 8080 }, { cidr: '192.168.0.0/16' }, { cidr: 'fd12::/16' }],
      denyExtra: ['10.0.0.0/8'],
    });
    assert.equal(some.check('10.1.2.3', 8080), 'ok');
    assert.equal(some.check('::ffff:10.1.2.3', 8080), 'ok');
    assert.equal(some.check('10.1.2.3', 8081), 'refused');
    assert.equal(some.check('10.1.2.3'), 'refused');
    assert.equal(some.check('10.1.2.4', 8080), 'refused');
    assert.equal(some.check('192.168.9.9', 1), 'ok');
    assert.equal(some.check('fd12::9', 1), 'ok');
    assert.equal(some.check('fd13::9', 1), 'refused');
  });

  it('allows a listed name, but never loopback, link-local or metadata addresses', () => {
    const named = makeGuard({ allow: [{ host: 'Media.internal', port: 80 }, { host: '*.store.internal' }] });
    assert.equal(named.check('10.0.0.5', 80, 'media.internal'), 'ok');
    assert.equal(named.check('10.0.0.5', 80, 'media.internal.'), 'ok');
    assert.equal(named.check('10.0.0.5', 81, 'media.internal'), 'refused');
    assert.equal(named.check('10.0.0.5', 80, 'other.internal'), 'refused');
    assert.equal(named.check('10.0.0.5', 80), 'refused');
    assert.equal(named.check('10.0.0.5', 80, 'a.store.internal'), 'ok');
    assert.equal(named.check('10.0.0.5', 80, 'store.internal'), 'refused');
    assert.equal(named.check('10.0.0.5', 80, 'evilstore.internal'), 'refused');
    for (const address of [
      '127.0.0.1',
      '169.254.169.254',
      '::1',
      'fe80::1',
      'fd00:ec2::254',
      '::ffff:127.0.0.1',
      '0.0.0.0',
      '100.100.100.200',
    ]) {
      assert.equal(named.check(address, 80, 'media.internal'), 'refused', address);
    }
  });

  it('an entry with a name and a range requires both', () => {
    const both = makeGuard({ allow: [{ host: 'm.internal', cidr: '127.0.0.1/32' }] });
    assert.equal(both.check('127.0.0.1', 80, 'm.internal'), 'ok');
    assert.equal(both.check('127.0.0.1', 80, 'n.internal'), 'refused');
    assert.equal(both.check('10.0.0.1', 80, 'm.internal'), 'refused');
  });

  it('judges an allowed NAT64 address by the IPv4 address inside', () => {
    const nat = makeGuard({ allow: [{ cidr: '64:ff9b::/96' }] });
    assert.equal(nat.check('64:ff9b::8.8.8.8'), 'ok');
    assert.equal(nat.check('64:ff9b::10.0.0.1'), 'refused');
    assert.equal(nat.check('64:ff9b::a9fe:a9fe'), 'refused');
  });

  it('rejects an invalid exception instead of widening it', () => {
    for (const cidr of ['10.0.0.0/33', '10.0.0/8', 'x', '', '10.0.0.0/', '10.0.0.0/-1', '::/129', '10.0.0.0/8x']) {
      assert.throws(() => makeGuard({ allow: [{ cidr }] }), TypeError, cidr);
    }
    assert.throws(() => makeGuard({ allow: [{ port: 80 }] }), TypeError);
  });

  it('gives the same verdict for every spelling of an IPv4 address inside IPv6', () => {
    const next = random(7);
    for (let i = 0; i < 3000; i++) {
      const bytes = Array.from({ length: 4 }, () => Math.floor(next() * 256));
      const v4 = bytes.join('.');
      const hex = `${((bytes[0]! << 8) | bytes[1]!).toString(16)}:${((bytes[2]! << 8) | bytes[3]!).toString(16)}`;
      for (const spelled of [
        `::ffff:${v4}`,
        `::ffff:${hex}`,
        `0:0:0:0:0:FFFF:${hex}`,
        `0000:0000:0000:0000:0000:ffff:${hex}`,
      ]) {
        assert.equal(guard.check(spelled), guard.check(v4), spelled);
      }
    }
  });
});

describe('guard.resolveAndCheck', () => {
  it('returns the allowed addresses, and drops the others', async () => {
    const guard = makeGuard({ lookup: answers('10.0.0.1', '8.8.8.8', '::1', '2606:4700::1') });
    assert.deepEqual(await guard.resolveAndCheck('mixed.example', 80), [
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ]);
  });
  it('refuses a name that resolves only to private addresses', async () => {
    const guard = makeGuard({ lookup: answers('10.0.0.1', '::ffff:127.0.0.1') });
    await assert.rejects(guard.resolveAndCheck('inside.example', 80), {
      code: 'refused',
      message: 'the address is not allowed: it is private, local or reserved',
    });
  });
  it('does no look-up for a literal address', async () => {
    const guard = makeGuard({ lookup: () => Promise.reject(new Error('asked')) });
    assert.deepEqual(await guard.resolveAndCheck('8.8.8.8', 80), [{ address: '8.8.8.8', family: 4 }]);
    assert.deepEqual(await guard.resolveAndCheck('[2606:4700::1]', 80), [{ address: '2606:4700::1', family: 6 }]);
    await assert.rejects(guard.resolveAndCheck('[::1]', 80), { code: 'refused' });
    await assert.rejects(guard.resolveAndCheck('127.0.0.1', 80), { code: 'refused' });
  });
  it('reports that a name has no address', async () => {
    await assert.rejects(makeGuard({ lookup: answers() }).resolveAndCheck('x.example', 80), {
      code: 'origin-unreachable',
      reason: 'dns',
    });
    await assert.rejects(
      makeGuard({ lookup: () => Promise.reject(new Error('ENOTFOUND')) }).resolveAndCheck('x.example', 80),
      { code: 'origin-unreachable', reason: 'dns', message: 'cannot resolve host name x.example' },
    );
  });
  it('resolves localhost with the real resolver and refuses it', async () => {
    await assert.rejects(makeGuard().resolveAndCheck('localhost', 80), { code: 'refused' });
  });
});
