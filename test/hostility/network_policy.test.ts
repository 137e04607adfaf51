import assert from 'node:assert/strict';
import ipaddr from 'ipaddr.js';
import { only, render } from '../chart/render.ts';
import { record } from './record.ts';

interface Block {
  cidr: string;
  except?: string[];
}
interface Rule {
  to?: { ipBlock?: Block; podSelector?: { matchLabels?: Record<string, string> } }[];
  ports?: { port: number; protocol?: string }[];
}

const within = (address: string, cidr: string): boolean => {
  const [ip, [range, bits]] = [ipaddr.parse(address), ipaddr.parseCIDR(cidr)];
  return ip.kind() === range.kind() && ip.match(range, bits);
};

describe('the second wall, enforced by the network of the cluster', function () {
  this.timeout(60_000);
  let rules: Rule[];
  before(() => {
    console.log(
      '    here is what the policy says; network_enforced.test.ts tries it, and what tools ' +
        'connect to is held by the launcher, and tried in media.test.ts',
    );
    rules = only(render(), 'NetworkPolicy', 'probeyard-runner', 'probeyard-runners')['spec'].egress as Rule[];
  });
  const opens = (address: string, port: number): boolean =>
    rules.some(
      ({ to, ports }) =>
        (!ports || ports.some((one) => one.port === port)) &&
        (!to ||
          to.some(
            ({ ipBlock }) =>
              ipBlock && within(address, ipBlock.cidr) && !ipBlock.except?.some((except) => within(address, except)),
          )),
    );

  for (const [what, address, port, open] of [
    ["the API server's service", '10.96.0.1', 443, false],
    ["Postgres, by a pod's address", '10.188.1.9', 5432, false],
    ['another pod', '10.188.1.10', 8081, false],
    ['the kubelet', '192.168.7.2', 10250, false],
    ['the metadata of a cloud', '169.254.169.254', 80, false],
    ['the metadata of a cloud over IPv6', 'fd00:ec2::254', 80, false],
    ['a public origin', '93.184.216.34', 443, true],
  ] as const) {
    it(`from a runner to ${what}: ${open ? 'open' : 'closed'}`, () => {
      record({
        group: 'network',
        attempt: `NetworkPolicy: from a runner to ${what}`,
        expected: open ? 'open' : 'closed',
        got: opens(address, port) ? 'open' : 'closed',
      });
      assert.equal(opens(address, port), open);
    });
  }

  it('NATS is open to the pod for its agent, and only the launcher keeps a tool from it', () => {
    const toNats = rules.filter(({ to }) =>
      to?.some(({ podSelector }) => podSelector?.matchLabels?.['app.kubernetes.io/component'] === 'nats'),
    );
    assert.deepEqual(
      toNats.map(({ ports }) => ports?.map(({ port }) => port)),
      [[4222]],
    );
    record({
      group: 'network',
      attempt: 'NetworkPolicy: from a runner to NATS',
      expected: 'open at 4222 for the agent',
      got: 'open at 4222',
    });
  });
});
