/** What the chart renders for the namespaces of tenants, and that it renders none of it without them. */
import assert from 'node:assert/strict';
import { loadConfig } from '../../src/base/config.ts';
import { container, environmentOf, only, render, type Rendered, type RenderOptions } from './render.ts';

const TENANTS = {
  tenants: {
    namespaces: [
      { name: 'team-a', account: 7 },
      { name: 'team-b', account: 12_345_678, token: 31 },
    ],
  },
};
const MUTATING = 'admissionregistration.k8s.io/v1/MutatingAdmissionPolicy';

describe('chart: namespaces of tenants', function () {
  this.timeout(60_000);

  const selected = ({ namespaceSelector }: Rendered): string[] => namespaceSelector.matchExpressions[0].values;
  const servedBy = (values: object): string[][] => {
    const of = (kind: string, name: string) => only(render(values), kind, `probeyard-${name}`)['spec'];
    return [
      of('ValidatingAdmissionPolicyBinding', 'jobs').matchResources,
      of('ValidatingAdmissionPolicyBinding', 'fence').matchResources,
      of('ValidatingAdmissionPolicy', 'fence').matchConstraints,
    ].map(selected);
  };

  it('the policies of jobs and of admissions apply there, too', () => {
    assert.deepEqual(servedBy({}), [['probeyard'], ['probeyard'], ['probeyard']]);
    const all = ['probeyard', 'team-a', 'team-b'];
    assert.deepEqual(servedBy(TENANTS), [all, all, all]);
  });

  for (const role of ['api', 'controller'] as const)
    it(`the ${role} knows the bindings`, () => {
      const env = environmentOf(container(render(TENANTS), role));
      assert.deepEqual(loadConfig(role, env).tenantNamespaces, TENANTS.tenants.namespaces);
      assert.equal(environmentOf(container(render(), role))['PY_TENANT_NAMESPACES'], undefined);
    });

  it('no object stands in such a namespace, which may not exist yet', () => {
    const places = new Set(render(TENANTS).map(({ metadata }) => metadata.namespace));
    assert.deepEqual(
      [...places].filter((place) => place?.startsWith('team')),
      [],
    );
  });

  it('the creator is written where the cluster can, and only there', () => {
    const kinds = (values: object, options?: RenderOptions) =>
      render(values, options).filter(({ kind }) => kind.startsWith('MutatingAdmissionPolicy'));
    assert.deepEqual(kinds(TENANTS), []);
    assert.deepEqual(kinds({}, { apiVersions: [MUTATING] }), []);
    const made = kinds(TENANTS, { apiVersions: [MUTATING] });
    assert.deepEqual(
      made.map(({ kind }) => kind),
      ['MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding'],
    );
    assert.deepEqual(selected(made[1]!['spec'].matchResources), ['team-a', 'team-b']);
  });

  it('the calls of the controller about them have its level of the API server', () => {
    const rules = (values: object) =>
      only(render({ flowControl: { enabled: true }, ...values }), 'FlowSchema', 'probeyard')['spec'].rules[0]
        .resourceRules[0];
    assert.deepEqual(rules({}).namespaces, ['probeyard', 'probeyard-runners']);
    assert.deepEqual([rules(TENANTS).namespaces, rules(TENANTS).clusterScope], [['*'], true]);
  });
});
