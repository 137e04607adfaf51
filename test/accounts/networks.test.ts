import assert from 'node:assert/strict';
import { networkOf, siteOf } from '../../src/service/accounts/networks.ts';

describe('addresses as keys of a limit', () => {
  for (const [what, addresses, site, network] of [
    [
      'all spellings of an IPv4 address are one key',
      ['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:c000:201', '192.0.2.1:4433', '[::ffff:192.0.2.1]:443', ' 192.0.2.1 '],
      '192.0.2.1/32',
      '192.0.2.0/24',
    ],
    [
      'all addresses in an IPv6 /64 are one key',
      [
        '2001:db8:1:2::',
        '2001:db8:1:2::1',
        '2001:DB8:1:2:ffff:ffff:ffff:ffff',
        '[2001:db8:1:2::7]',
        '[2001:db8:1:2::7]:443',
        '2001:0db8:0001:0002:0:0:0:9',
      ],
      '2001:db8:1:2::/64',
      '2001:db8:1:2::/64',
    ],
    [
      'a link-local address is one key, whatever its zone',
      ['fe80::1', 'fe80::2%eth0', 'fe80::3%25eth1', 'fe80::4%\u0000'],
      'fe80::/64',
      'fe80::/64',
    ],
    [
      'all invalid addresses are one key',
      [
        '',
        'unknown',
        '_hidden',
        '1.2.3',
        '1.2.3.4.5',
        '999.1.1.1',
        '0x7f.1',
        '2130706433',
        '010.0.0.1',
        '::g',
        '1::2::3',
        '192.0.2.1, 192.0.2.2',
        'a'.repeat(64),
      ],
      'unknown',
      'unknown',
    ],
  ] as const) {
    it(what, () => {
      for (const address of addresses)
        assert.deepEqual([siteOf(address), networkOf(address)], [site, network], JSON.stringify(address));
    });
  }

  it('addresses of two callers are two keys', () => {
    assert.notEqual(siteOf('192.0.2.1'), siteOf('192.0.2.2'));
    assert.notEqual(networkOf('192.0.2.1'), networkOf('192.0.3.1'));
    assert.notEqual(siteOf('2001:db8:1:2::1'), siteOf('2001:db8:1:3::1'));
  });
});
