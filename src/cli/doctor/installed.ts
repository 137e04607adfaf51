/** What an installation says of itself: its image, its addresses. No Secret is read. */
import { EXIT, Failure } from '../failure.ts';
import type { Kubectl } from '../kubectl/kubectl.ts';

interface PodSpec {
  imagePullSecrets?: { name: string }[];
  securityContext?: object;
  containers: { image: string; imagePullPolicy?: string; env?: { name: string; value?: string }[] }[];
}
interface Deployment {
  metadata: { labels?: Record<string, string> };
  spec: { template: { spec: PodSpec } };
}

export interface Installed {
  image: string;
  pullPolicy: string;
  pullSecrets: readonly string[];
  podSecurity: object | undefined;
  nats: readonly string[];
  runners: string;
}

const CONTROLLER = 'app.kubernetes.io/name=probeyard,app.kubernetes.io/component=controller';

/** Without user and password. */
const addressesIn = (urls: string): string[] =>
  urls
    .split(',')
    .filter((url) => URL.canParse(url))
    .map((url) => new URL(url))
    .map(({ hostname, port }) => `${hostname}:${port || 4222}`);

export async function installedBy(kubectl: Kubectl): Promise<Installed> {
  const { items } = await kubectl.get<{ items: Deployment[] }>('deployments', `--selector=${CONTROLLER}`);
  const spec = items[0]?.spec.template.spec;
  const container = spec?.containers[0];
  if (!spec || !container)
    throw new Failure(`there is no Probeyard in the namespace ${kubectl.namespace}`, EXIT.usage, {
      hint: 'name another one with --namespace, or check the cluster before with --install-check',
    });
  const value = (name: string): string => container.env?.find((one) => one.name === name)?.value ?? '';
  return {
    image: container.image,
    pullPolicy: container.imagePullPolicy ?? 'IfNotPresent',
    pullSecrets: (spec.imagePullSecrets ?? []).map(({ name }) => name),
    podSecurity: spec.securityContext,
    nats: addressesIn(value('PY_RUNNER_NATS_URL') || value('PY_NATS_URL')),
    runners: value('PY_RUNNER_NAMESPACE') || `${kubectl.namespace}-runners`,
  };
}
