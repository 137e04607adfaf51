/** The settings of the running controller for the pods that it creates, read from its Deployment. */
import { loadConfig, type Config } from '../../src/base/config.ts';
import type { KubeClient, ResourceType } from '../../src/platform/kube/client.ts';
import type { Meta } from '../../src/platform/kube/resource.ts';
import { NAMESPACE } from './fixture.ts';

interface Deployment {
  metadata: Meta;
  spec: {
    replicas?: number;
    template: { spec: { containers: { name: string; env?: { name: string; value?: string }[] }[] } };
  };
  status?: { observedGeneration?: number; replicas?: number; updatedReplicas?: number; readyReplicas?: number };
}

export const DEPLOYMENTS: ResourceType<Deployment> = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
};

export async function settingsOfController(kube: KubeClient): Promise<Config<'controller'>> {
  const deployment = await kube.get(DEPLOYMENTS, 'probeyard-controller', { namespace: NAMESPACE });
  const env = deployment.spec.template.spec.containers.find(({ name }) => name === 'controller')?.env ?? [];
  // Secrets are not read, because no pod depends on them.
  return loadConfig('controller', {
    PY_POSTGRES_URL: 'unread',
    ...Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))),
  });
}
