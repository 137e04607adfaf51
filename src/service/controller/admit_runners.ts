/** Decides which connections NATS accepts as runners: those of our own pods, while the pod exists. */
import { serveCallout } from '../../platform/bus/callout.ts';
import { podTokenVerifier, type PodName } from '../../platform/bus/podtoken.ts';
import { PODS, isKubeError, type Pod } from '../../platform/kube/client.ts';
import type { Reflector } from '../../platform/kube/reflector.ts';
import { type Logger, runnerFields } from '../../base/log.ts';
import { isRunnerPod } from './catalog/prove.ts';
import { lifeOfPod } from './pools/pod.ts';
import type { ControllerDeps } from './clients.ts';
import type { EndFlooding } from './floods.ts';

interface AdmitRunnersDeps extends Omit<ControllerDeps, 'store'> {
  pods: Reflector<Pod>;
  issuerSeed: string;
  endFlooding: EndFlooding;
}

export type AdmittingRunners = ReturnType<typeof admitRunners>;

export function admitRunners(deps: AdmitRunnersDeps) {
  const { bus, kube, config, log, metrics, pods, issuerSeed, endFlooding } = deps;
  const fresh = (pod: string): Promise<Pod | undefined> =>
    kube.get(PODS, pod, { namespace: config.runnerNamespace }).catch((error: unknown) => {
      if (isKubeError(error, 'not-found')) return undefined;
      throw error;
    });
  const isOurPod = async ({ uid, pod }: PodName): Promise<boolean> => {
    const known = pods.by('uid', uid)[0] ?? (await fresh(pod));
    return known !== undefined && known.metadata.uid === uid && isRunnerPod(known);
  };
  /** A cached life only grows, so a later one is looked up, and an earlier one is over. */
  const isInLife = async ({ uid, pod }: PodName, life: number): Promise<boolean> => {
    const cached = pods.by('uid', uid)[0];
    if (cached && lifeOfPod(cached) >= life) return lifeOfPod(cached) === life;
    const found = await fresh(pod);
    return found?.metadata.uid === uid && lifeOfPod(found) === life;
  };
  return serveCallout(bus, {
    issuerSeed,
    account: config.natsAccount,
    authorise: podTokenVerifier({
      jwks: () => kube.jwks(),
      issuer: () => kube.issuer(),
      namespace: config.runnerNamespace,
      serviceAccount: config.runnerServiceAccount,
    }),
    isOurPod,
    isInLife,
    onFlood: (uid) => void endFlooding(uid, 'connections'),
    onDecision: (decision) => {
      metrics.callout(decision.ok ? 'accepted' : 'refused');
      if (decision.ok) log.info(runnerFields(decision), 'runner connected to NATS');
      else log.warn({ code: decision.code, reason: decision.message }, 'refused a connection to NATS');
    },
  });
}

/**
 * Closes the NATS connections of a deleted pod, whose token stays valid for a while, or only those of the lives that it
 * has had.
 */
export function cutOff(callout: AdmittingRunners, log: Logger, pod: Pod, which: 'all' | 'former'): void {
  if (!isRunnerPod(pod)) return;
  const { name, uid = '' } = pod.metadata;
  void callout.kick(uid, which === 'former' ? lifeOfPod(pod) : undefined).catch((error: unknown) => {
    log.debug({ err: error, ...runnerFields({ pod: name, uid }) }, 'cannot close the NATS connection of a runner');
  });
}
