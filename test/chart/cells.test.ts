/** Several releases in one cluster (docs/operating/cells.md): nothing of them collides, and the router finds a home. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import { parse } from 'yaml';
import { newTokenText } from '../../src/service/accounts/token_text.ts';
import { boxKeys } from '../../src/service/setup/secrets.ts';
import { EVERYTHING } from './everything.ts';
import { CHART, render, type Rendered } from './render.ts';
import { ROUTER, startRouter, type Router } from './router.ts';

const PAGES = join(CHART, '../../docs/operating/cells');
const valuesOf = (cell: string): object => parse(readFileSync(join(PAGES, `${cell}.yaml`), 'utf8')) as object;

/** A kind that is not known here counts as one of the cluster. */
const NAMESPACED = new Set(
  (
    'ConfigMap CronJob Deployment Ingress Job NetworkPolicy Pod PodDisruptionBudget Role RoleBinding Secret Service ' +
    'ServiceAccount StatefulSet'
  ).split(' '),
);

/** As the API server tells objects apart. */
const nameOf = ({ apiVersion, kind, metadata: { name, namespace } }: Rendered, release: string): string =>
  `${apiVersion.split('/')[0]} ${kind} ${NAMESPACED.has(kind) ? (namespace ?? release) : ''}/${name}`;

const MUTATING = 'admissionregistration.k8s.io/v1/MutatingAdmissionPolicy';

/** As Helm joins two files of values. */
const joined = (values: object, over: object): object => {
  const isMap = (value: unknown): value is object => typeof value === 'object' && value !== null;
  const before = new Map<string, unknown>(Object.entries(values));
  for (const [name, value] of Object.entries(over) as [string, unknown][]) {
    const had = before.get(name);
    before.set(name, isMap(had) && isMap(value) && !Array.isArray(value) ? joined(had, value) : value);
  }
  return Object.fromEntries(before);
};

/** The names of all objects of a release. */
function namesOf(cell: string, more: object = {}, namespace = `probeyard-${cell}`): string[] {
  return render(joined(more, valuesOf(cell)), { namespace, apiVersions: [MUTATING] }).map((object) =>
    nameOf(object, namespace),
  );
}

const both = (first: readonly string[], second: readonly string[]): string[] =>
  first.filter((name) => second.includes(name));

describe('chart: cells', function () {
  this.timeout(60_000);

  const CASES = { 'as they are by default': {}, 'with everything that can be turned on': EVERYTHING };
  for (const [what, more] of Object.entries(CASES))
    it(`two releases ${what} have no object in common`, () => {
      const [first, second] = [namesOf('a', more), namesOf('b', more)];
      const global = first.filter((name) => / \//.test(name));
      assert.ok(global.length >= 12, global.join('\n'));
      assert.deepEqual(both(first, second), []);
    });

  it('the second one has no CRDs, which would belong to both', () => {
    const crds = (names: string[]) => names.filter((name) => name.includes(' CustomResourceDefinition '));
    assert.ok(crds(namesOf('a')).length > 0);
    assert.deepEqual(crds(namesOf('b')), []);
  });

  it('names of the cluster follow from the namespace, if all releases have one name', () => {
    const namespaces = ['probeyard', 'a', 'a-probeyard'];
    const names = namespaces.map((namespace) => namesOf('b', {}, namespace).filter((name) => / \//.test(name)));
    for (const [index, one] of names.entries())
      for (const other of names.slice(index + 1))
        assert.deepEqual(
          both(one, other).filter((name) => !name.includes(' Namespace ')),
          [],
        );
  });
});

describe('docs/operating/cells/nginx.conf', function () {
  this.timeout(30_000);
  const keySet = (): JSONWebKeySet => JSON.parse(boxKeys()['box.jwks']!) as JSONWebKeySet;
  const keys = { cell_a: keySet(), cell_b: keySet() };
  const bearer = (set: JSONWebKeySet) => ({ authorization: `Bearer ${newTokenText(set)}` });
  const servers: Server[] = [];
  let router: Router | undefined;

  before(async function () {
    const ports = new Map<string, number>();
    for (const cell of ['cell_a', 'cell_b']) {
      const server = createServer((incoming, answer) => answer.end(`${cell} ${incoming.headers.host}`));
      servers.push(server.listen(0, '127.0.0.1'));
      await once(server, 'listening');
      ports.set(cell, (server.address() as AddressInfo).port);
    }
    const key = (set: JSONWebKeySet): string => newTokenText(set).slice(38, 42);
    router = await startRouter((config) =>
      config
        .replace('Kq3Z', key(keys.cell_a))
        .replace('w7Bd', key(keys.cell_b))
        .replace('probeyard-api.probeyard-a.svc:80', `127.0.0.1:${ports.get('cell_a')}`)
        .replace('probeyard-api.probeyard-b.svc:80', `127.0.0.1:${ports.get('cell_b')}`),
    );
    if (router === undefined) this.skip();
  });
  after(async () => {
    await router?.stop();
    for (const server of servers) server.close();
  });

  const ask = async (host: string, headers: Record<string, string> = {}): Promise<string> => {
    const sent = request({ port: router!.port, host: '127.0.0.1', headers: { host, ...headers } });
    const [answer] = (await once(sent.end(), 'response')) as [IncomingMessage];
    return (await answer.setEncoding('utf8').toArray()).join('');
  };

  const shared = 'probe.example.org';
  const CASES: [what: string, host: string, headers: Record<string, string>, cell: string][] = [
    ['the host of a cell', 'b.probe.example.org', {}, 'cell_b'],
    ['the host of an account', 'film.probe.example.org', bearer(keys.cell_b), 'cell_b'],
    ['the host before the token', 'a.probe.example.org', bearer(keys.cell_b), 'cell_a'],
    ['the token, where the host is that of all', shared, bearer(keys.cell_b), 'cell_b'],
    ['a token of the first cell', shared, bearer(keys.cell_a), 'cell_a'],
    ['a token that an operator chose', shared, { authorization: `Bearer ${'x'.repeat(64)}` }, 'cell_a'],
  ];
  for (const [what, host, headers, cell] of CASES)
    it(`sends by ${what}`, async () => assert.equal(await ask(host, headers), `${cell} ${host}`));

  it('names the cells that the values make', () => {
    for (const cell of ['a', 'b']) {
      const namespace = `probeyard-${cell}`;
      const services = render(valuesOf(cell), { namespace }).filter(({ kind }) => kind === 'Service');
      const [, name] = new RegExp(`upstream cell_${cell} \\{ server ([^.]+)\\.${namespace}\\.svc:80;`).exec(ROUTER)!;
      assert.ok(
        services.some(({ metadata }) => metadata.name === name),
        name,
      );
    }
  });
});
