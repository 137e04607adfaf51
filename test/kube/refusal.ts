/** What an API server refuses, as it does where a right was taken away: writes of one object, and gets. */
import { randomUUID } from 'node:crypto';
import { isKubeError, type KubeClient, type ResourceType } from '../../src/platform/kube/client.ts';
import { until } from '../until.ts';
import type { TestApiServer } from './apiserver.ts';
import { kubeClient } from './kubeconfig.ts';

const REFUSED = {
  delete: { operation: 'DELETE', method: 'DELETE', subresource: '' },
  status: { operation: 'UPDATE', method: 'PATCH', subresource: '/status' },
} as const;

/** Returns what ends it. */
export async function refuse(
  kube: KubeClient,
  what: keyof typeof REFUSED,
  { group, version, plural }: ResourceType,
  { namespace, name }: { namespace: string; name: string },
): Promise<() => Promise<void>> {
  const { operation, method, subresource } = REFUSED[what];
  const policy = `refuse-${randomUUID()}`;
  const admission = (path: string, body?: object) =>
    kube.request({
      method: body ? 'POST' : 'DELETE',
      path: `/apis/admissionregistration.k8s.io/v1/${path}${body ? '' : `/${policy}`}`,
      ...(body ? { body } : {}),
    });
  const rule = {
    apiGroups: [group],
    apiVersions: [version],
    resources: [`${plural}${subresource}`],
    operations: [operation],
  };
  const expression = `request.namespace != '${namespace}' || request.name != '${name}'`;
  await admission('validatingadmissionpolicies', {
    metadata: { name: policy },
    spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression, reason: 'Forbidden' }] },
  });
  await admission('validatingadmissionpolicybindings', {
    metadata: { name: policy },
    spec: { policyName: policy, validationActions: ['Deny'] },
  });
  const dry = {
    method,
    path: `/apis/${group}/${version}/namespaces/${namespace}/${plural}/${name}${subresource}`,
    query: { dryRun: 'All' },
    ...(method === 'PATCH' ? { body: { status: {} }, contentType: 'application/merge-patch+json' } : {}),
  };
  const isInForce = async (): Promise<boolean> =>
    isKubeError(await kube.request(dry).catch((error: unknown) => error), 'forbidden');
  await until('the policy is in force', isInForce, 30_000);
  return async () => {
    await admission('validatingadmissionpolicybindings');
    await admission('validatingadmissionpolicies');
    await until('the policy is not in force', async () => !(await isInForce()), 30_000);
  };
}

const RBAC = 'rbac.authorization.k8s.io';

/** A client that may list and watch all objects of a kind, and get those of this name alone. */
export async function clientThatGets(
  { client: admin, kubeconfig }: Pick<TestApiServer, 'client' | 'kubeconfig'>,
  { group, version, plural }: ResourceType,
  name: string,
): Promise<KubeClient> {
  const user = `reader-${randomUUID()}`;
  const create = (kind: string, more: object) =>
    admin.request({
      method: 'POST',
      path: `/apis/${RBAC}/v1/${kind}`,
      body: { metadata: { name: user }, ...more },
    });
  const of = { apiGroups: [group], resources: [plural] };
  await create('clusterroles', {
    rules: [
      { ...of, verbs: ['list', 'watch'] },
      { ...of, verbs: ['get'], resourceNames: [name] },
    ],
  });
  await create('clusterrolebindings', {
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: user },
    subjects: [{ apiGroup: RBAC, kind: 'User', name: user }],
  });
  const client = await kubeClient({ kubeconfig, as: user });
  const path = `/apis/${group}/${version}/${plural}`;
  await until('it may list them', () => client.request({ method: 'GET', path }));
  return client;
}
