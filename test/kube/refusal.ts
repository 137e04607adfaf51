/** Writes of one object that an API server refuses, as it does where a right was taken away. */
import { randomUUID } from 'node:crypto';
import { isKubeError, type KubeClient, type ResourceType } from '../../src/platform/kube/client.ts';
import { until } from '../until.ts';

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
