import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hierarchies } from '../../node/cgroups.ts';
import { parseEnvironment } from '../../node/environment.ts';
import { conflicts, hasCapability } from '../../node/host.ts';
import { listedImages, outdated, pinned } from '../../node/images.ts';
import { comparableRules, removalOf } from '../../node/iptables.ts';
import { logged, lostConnections, unexpected } from '../../node/complaints.ts';
import { isBelow, mountPoints } from '../../node/mounts.ts';
import { compareVersions } from '../../node/packages.ts';
import { parseRecord, parseStat } from '../../node/processes.ts';
import { differences, type Snapshot } from '../../node/snapshot.ts';
import { listeners } from '../../node/sockets.ts';
import { at, placesOf } from '../../node/place.ts';
import { wantsPolicies } from '../../node/network_policies.ts';
import { NODE_PARTS } from '../../node/parts.ts';
import { wantedNodes } from '../../node/joined_nodes.ts';
import { nodeParts } from '../../node/versions.ts';
import { addressIn, chooseSubnet } from '../../node/subnets.ts';

describe('what the node reads from a machine', () => {
  it('distinguishes cgroup v1, v2 and both together', () => {
    const v1 =
      '30 20 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 20 ' +
      '0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n';
    const unified = '32 20 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n';
    assert.deepEqual(hierarchies(v1), {
      version: 1,
      roots: ['/sys/fs/cgroup/memory', '/sys/fs/cgroup/pids'],
      all: ['/sys/fs/cgroup/memory', '/sys/fs/cgroup/pids'],
    });
    assert.deepEqual(hierarchies(v1 + unified)?.all, [
      '/sys/fs/cgroup/memory',
      '/sys/fs/cgroup/pids',
      '/sys/fs/cgroup/unified',
    ]);
    assert.equal(hierarchies(v1 + unified)?.version, 1);
    assert.deepEqual(hierarchies('32 20 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n'), {
      version: 2,
      roots: ['/sys/fs/cgroup'],
      all: ['/sys/fs/cgroup'],
    });
    assert.equal(hierarchies('1 0 8:1 / / rw - ext4 /dev/vda rw\n'), undefined);
  });

  it('reads mount points, even with a space', () => {
    assert.deepEqual(mountPoints('1 0 8:1 / / rw - ext4 a rw\n2 1 0:3 / /mnt/my\\040disk rw - ext4 b rw\n'), [
      '/',
      '/mnt/my disk',
    ]);
    assert.ok(isBelow('/var/lib/a/b', ['/var/lib/a']));
    assert.ok(!isBelow('/var/lib/ab', ['/var/lib/a']));
  });

  it('reads the counts of lost connections by their names', () => {
    const text =
      'TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts TCPSynRetrans\nTcpExt: 0 3 4 5 6\n' +
      'IpExt: InNoRoutes\nIpExt: 9\n';
    assert.equal(lostConnections(text), 'ListenOverflows 3, ListenDrops 4, TCPSynRetrans 6, TCPTimeouts 5');
    assert.match(lostConnections(''), /^ListenOverflows \?/);
  });

  it('reads a process with brackets and spaces in its name', () => {
    const tail = `S 1 ${Array.from({ length: 17 }, (_, index) => index).join(' ')} 4711 99`;
    assert.deepEqual(parseStat(`12 (a) b (c) ${tail}`), { pid: 12, name: 'a) b (c', state: 'S', startTicks: '4711' });
    assert.deepEqual(parseRecord(`boot-1 hash-1 12 (sh) ${tail}\n`), {
      boot: 'boot-1',
      running: { pid: 12, startTicks: '4711', hash: 'hash-1' },
    });
  });

  for (const text of ['', 'boot', 'boot hash', 'boot hash 12 (sh) S 1 2']) {
    it(`ignores half a record: "${text}"`, () => assert.equal(parseRecord(text), undefined));
  }

  it('finds the process on a port that the node needs', () => {
    const text = [
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
      '   0: 0100007F:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1',
      '   1: 00000000:280A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1',
      '   2: 0100007F:192B 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 333 1',
      '   3: 0200A8C0:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 444 1',
      '   4: 0000000000000000FFFF00000100007F:192B ' +
        '00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 ' +
        '00000000 0 0 555 1',
    ].join('\n');
    assert.deepEqual(
      conflicts(listeners(text), [6443, 10250], ['127.0.0.1']).map(({ inode }) => inode),
      ['111', '222', '555'],
    );
  });

  it('reads capabilities', () => {
    assert.ok(hasCapability('Name:\tx\nCapEff:\t000001ffffffffff\n', 24n));
    assert.ok(!hasCapability('CapEff:\t000001fffeffffff\n', 24n));
  });

  for (const [one, other, sign] of [
    ['go1.26.8', '1.26.6', 1],
    ['go1.9', '1.26', -1],
    ['go1.26', '1.26.0', 0],
    ['go1.27rc1', '1.26.9', 1],
  ] as const) {
    it(`compares ${one} with ${other}`, () => assert.equal(Math.sign(compareVersions(one, other)), sign));
  }
});

describe('choice of addresses', () => {
  it('takes the first range that overlaps nothing on the machine', () => {
    const candidates = ['10.188.0.0/16', '10.189.0.0/16', '172.29.0.0/16'];
    assert.equal(chooseSubnet(candidates, ['192.0.2.0/24']), '10.188.0.0/16');
    assert.equal(chooseSubnet(candidates, ['10.188.7.1']), '10.189.0.0/16');
    assert.equal(chooseSubnet(candidates, ['10.0.0.0/8']), '172.29.0.0/16');
    assert.equal(chooseSubnet(candidates, ['0.0.0.0/0']), undefined);
  });

  it('counts addresses from the start of the range', () => {
    assert.equal(addressIn('10.96.0.0/16', 10), '10.96.0.10');
    assert.equal(addressIn('192.168.192.0/20', 257), '192.168.193.1');
  });

  for (const [podCidr, first, second, third] of [
    [
      '10.188.0.0/16',
      ['10.188.0.1', '10.188.0.2', '10.188.127.255'],
      ['10.188.128.1', '10.188.128.2', '10.188.191.254'],
      ['10.188.192.1', '10.188.192.2', '10.188.255.254'],
    ],
    [
      '192.168.192.0/20',
      ['192.168.192.1', '192.168.192.2', '192.168.199.255'],
      ['192.168.200.1', '192.168.200.2', '192.168.203.254'],
      ['192.168.204.1', '192.168.204.2', '192.168.207.254'],
    ],
  ] as const) {
    it(`gives each node its part of ${podCidr}`, () => {
      const settings = { podCidr, hostIp: first[0], serviceCidr: '', serviceAddress: '', dnsAddress: '' };
      const shown = placesOf(settings, 3).map(({ address, pods }) => [address, pods.first, pods.last]);
      assert.deepEqual(shown, [first, second, third]);
    });
  }

  it('starts daemons of the second node in its network namespace', () => {
    const settings = { podCidr: '10.188.0.0/16', hostIp: '', serviceCidr: '', serviceAddress: '', dnsAddress: '' };
    const daemon = { name: 'x', program: '/bin/x', args: ['--a'], ready: async () => true, readyWithinMs: 1 };
    const [first, second] = placesOf(settings, 2);
    assert.equal(at(first, daemon), daemon);
    const { program, args } = at(second!, daemon);
    assert.deepEqual(
      [program, ...args],
      ['/usr/bin/nsenter', '--net=/run/probeyard-node/second/netns', '/bin/x', '--a'],
    );
  });

  it('NODES is 1 to 3', () => {
    assert.deepEqual(['1', '2', '3'].map(wantedNodes), [1, 2, 3]);
    for (const asked of ['0', '4', '1.5', 'two'])
      assert.throws(() => wantedNodes(asked), new RegExp(`NODES=${asked}: 1 to 3`));
  });

  it('enforces NetworkPolicies on request', () => {
    const wants = (asked?: string) =>
      wantsPolicies({ NODES: '1', ...(asked !== undefined && { NETWORK_POLICY: asked }) });
    assert.deepEqual([wants(), wants('0'), wants('1')], [false, false, true]);
    assert.throws(() => wants('yes'), /NETWORK_POLICY=yes: 1 enforces NetworkPolicies, 0 does not/);
    assert.throws(() => wantsPolicies({ NODES: '2', NETWORK_POLICY: '1' }), /needs NODES=1/);
    assert.deepEqual(nodeParts({ NODES: '1' }), NODE_PARTS);
    assert.deepEqual(nodeParts({ NODES: '1', NETWORK_POLICY: '1' }), [...NODE_PARTS, 'network-policies']);
  });
});

const SAVED = `# Generated
*nat
:PREROUTING ACCEPT [5:300]
:POSTROUTING ACCEPT [0:0]
:DOCKER - [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-SEP-ABC - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A PREROUTING -j DOCKER
-A POSTROUTING -s 10.188.0.0/16 ! -d 10.188.0.0/16 -m comment --comment probeyard-node -j MASQUERADE
-A KUBE-SERVICES -d 10.96.0.1/32 -j KUBE-SEP-ABC
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
-A INPUT -p tcp -j ACCEPT
COMMIT
`;

describe('iptables', () => {
  it('removes our rules and chains, and no others', () => {
    assert.equal(
      removalOf(SAVED),
      `*nat
:KUBE-SERVICES - [0:0]
:KUBE-SEP-ABC - [0:0]
-D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-D POSTROUTING -s 10.188.0.0/16 ! -d 10.188.0.0/16 -m comment --comment probeyard-node -j MASQUERADE
-X KUBE-SERVICES
-X KUBE-SEP-ABC
COMMIT
`,
    );
  });

  it('is unchanged if it has no rules of ours', () =>
    assert.equal(removalOf('*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j ACCEPT\nCOMMIT\n'), ''));

  it('is compared by effect, without empty built-in chains and counters', () => {
    assert.deepEqual(comparableRules('*filter\n:INPUT ACCEPT [1:2]\nCOMMIT\n'), []);
    assert.deepEqual(comparableRules('*filter\n:FORWARD DROP [1:2]\n:MINE - [0:0]\n-A INPUT -j MINE\nCOMMIT\n'), [
      'filter -A INPUT -j MINE',
      'filter FORWARD DROP',
      'filter MINE -',
    ]);
  });
});

describe('images on the node', () => {
  const there = listedImages(
    [
      'REF TYPE DIGEST SIZE PLATFORMS LABELS',
      'localhost/a:1  application/x  sha256:new  1 MiB linux/amd64 -',
      'localhost/a@sha256:new application/x sha256:new 1 MiB - -',
      'localhost/a@sha256:old application/x sha256:old 1 MiB - -',
      'sha256:config-new application/x sha256:new 1 - -',
      'sha256:config-old application/x sha256:old 1 - -',
      'localhost/ab@sha256:old2 application/x sha256:old2 1 - -',
    ].join('\n'),
  );

  it('are identified by name and digest', () => {
    assert.equal(there.get('localhost/a:1'), 'sha256:new');
    assert.equal(pinned('localhost/a:1', 'sha256:new'), 'localhost/a@sha256:new');
    assert.equal(pinned('localhost:5000/a', 'sha256:new'), 'localhost:5000/a@sha256:new');
  });

  it('are removed when no name refers to them, and foreign ones never', () =>
    assert.deepEqual(outdated(there, 'localhost/a:1'), ['localhost/a@sha256:old', 'sha256:config-old']));
});

describe('.local/env', () => {
  it('returns what was written', () => {
    assert.deepEqual(parseEnvironment(`export A='it'\\''s'\nexport PATH='/x/bin':"$PATH"\n`), {
      A: "it's",
      PATH: '/x/bin:$PATH',
    });
  });
});

describe('comparison of a machine before and after', () => {
  const empty: Snapshot = {
    boot: 'b',
    lists: { links: [], mounts: [], namespaces: [], rules: [], rules6: [], routes: [], cgroups: [], folders: [] },
    sysctls: { 'net/ipv4/ip_forward': '0' },
  };

  it('reports what appeared and disappeared, and counts duplicates', () => {
    const before = { ...empty, lists: { ...empty.lists, mounts: ['/', '/dev/pts'], links: ['lo', 'eth1'] } };
    const after = {
      ...empty,
      lists: { ...empty.lists, mounts: ['/', '/dev/pts', '/dev/pts'], links: ['lo'] },
      sysctls: { 'net/ipv4/ip_forward': '1' },
    };
    assert.deepEqual(differences(before, after), [
      { list: 'links', added: [], removed: ['eth1'] },
      { list: 'mounts', added: ['/dev/pts'], removed: [] },
      { list: 'sysctls', added: ['net/ipv4/ip_forward=1'], removed: ['net/ipv4/ip_forward=0'] },
    ]);
    assert.deepEqual(differences(before, before), []);
  });
});

describe('what the cluster complains of after failed tests', () => {
  it('names the conditions of nodes and tools that are not as they should be, and no others', () => {
    const conditions = [
      { type: 'Ready', status: 'True' },
      {
        type: 'DiskPressure',
        status: 'True',
        reason: 'KubeletHasDiskPressure',
        message: 'kubelet has disk\n pressure',
      },
      { type: 'PIDPressure', status: 'False' },
    ];
    assert.deepEqual(unexpected([{ kind: 'Node', metadata: { name: 'one' }, status: { conditions } }]), [
      'Node one is DiskPressure=True: KubeletHasDiskPressure: kubelet has disk pressure',
    ]);
    const refused = { type: 'Available', status: 'False', reason: 'ImageUnavailable', message: 'no image' };
    assert.deepEqual(
      unexpected([
        { kind: 'ProbeTool', metadata: { name: 'new' } },
        { kind: 'ProbeTool', metadata: { name: 'gone' }, status: { conditions: [refused] } },
      ]),
      ['ProbeTool gone is Available=False: ImageUnavailable: no image'],
    );
  });

  it('finds in a log the first and the last line that matter', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'probeyard-log-'));
    const log = join(folder, 'kubelet.log');
    await writeFile(log, ['Starting', 'Removing one', 'Removing two', 'Removing three', 'Ending'].join('\n'));
    assert.deepEqual(await logged(log, 'images went', /Removing/), [
      'images went, 3 lines, the first and the last:',
      'Removing one',
      'Removing three',
    ]);
    assert.deepEqual(await logged(log, 'images went', /Deleting/), []);
    await rm(folder, { recursive: true });
    assert.deepEqual(await logged(log, 'images went', /Removing/), []);
  });
});
