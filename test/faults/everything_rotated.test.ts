import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { SECRETS, type KubeObject, type ResourceType, type Secret } from '../../src/platform/kube/client.ts';
import { SECRET_NAMES } from '../../src/service/setup/secrets.ts';
import { rotate } from '../../src/service/setup/rotate.ts';
import { setPassword } from '../../src/platform/store/role_password.ts';
import { NAMESPACE, eventually, type Cluster } from '../cluster/fixture.ts';
import { assertTold, settled, underLoad } from './load.ts';
import { unlessLong } from '../long.ts';
import { wholeCluster } from './whole.ts';

/** The kubelet writes a changed Secret within a minute and a half; the jobs of this load are short. */
const MOST_OF_A_STAGE = 150_000;
const SERVICES: ResourceType<KubeObject & { spec: { clusterIP: string } }> = {
  group: '',
  version: 'v1',
  plural: 'services',
  kind: 'Service',
  namespaced: true,
};

describe('seal keys, box, authority of NATS and passwords of PostgreSQL are rotated under load', function () {
  this.timeout(1_500_000);
  let c: Cluster;
  before(async function () {
    unlessLong(this, 'the kubelet takes minutes to write changed Secrets');
    c = await wholeCluster();
  });
  after(() => c?.close());

  const held = async (name: string): Promise<Record<string, string>> => {
    const { data = {} } = await c.kube.get<Secret>(SECRETS, name, { namespace: NAMESPACE });
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(String(value), 'base64').toString()]),
    );
  };

  it('no request is lost or doubled, and nothing old is left', async () => {
    const before = await held(SECRET_NAMES.natsTls);
    const hosts = new X509Certificate(before['tls.crt']!)
      .subjectAltName!.split(', ')
      .map((name) => name.replace('DNS:', ''));
    const passwords = [SECRET_NAMES.postgres, SECRET_NAMES.postgresApi, SECRET_NAMES.postgresController];
    const passwordsBefore = await Promise.all(passwords.map(held));
    const postgres = await c.kube.get(SERVICES, 'probeyard-postgres', { namespace: NAMESPACE });
    const say = (line: object): void => console.log(`      ${JSON.stringify(line)}`);
    const all = (): Promise<void> =>
      rotate(c.kube, ['seal', 'box', 'natsCa', 'postgres'], {
        names: SECRET_NAMES,
        database: { url: '' },
        natsHosts: hosts,
        log: { info: say, warn: say } as never,
        longestMs: MOST_OF_A_STAGE,
        // Names of the cluster are not known here.
        setPassword: (addresses, password) =>
          setPassword(
            addresses.map((address) => address.replace(/@[^:/]+/, `@${postgres.spec.clusterIP}`)),
            password,
          ),
      });
    assertTold(await underLoad(c, all), 0.9);
    const after = await held(SECRET_NAMES.natsTls);
    assert.equal(after['ca.crt']!.match(/BEGIN/g)!.length, 1);
    assert.notEqual(after['ca.crt'], before['ca.crt']);
    for (const [index, one] of (await Promise.all(passwords.map(held))).entries()) {
      assert.notEqual(one['password'], passwordsBefore[index]!['password']);
      assert.equal(one['other-password'], undefined);
    }
    await eventually('controllers made NATS load the last step', 300, async () => {
      const log = await c.kubectl('-n', NAMESPACE, 'logs', 'statefulset/probeyard-nats', '--tail=50');
      return log.includes('Reloaded');
    });
    await settled(c);
  });
});
