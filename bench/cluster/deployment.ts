import type { ResourceType } from '../../src/kube/client.ts';
import type { Meta } from '../../src/kube/resources.ts';

export const DEPLOYMENT: ResourceType<{ metadata: Meta; status?: { readyReplicas?: number } }> = { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment', namespaced: true };
