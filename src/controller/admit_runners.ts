/** Decides which connections NATS accepts as runners: those of our own pods, while the pod exists. */
import { serveCallout } from '../bus/callout.ts';
import type { Bus } from '../bus/connect.ts';
import { podTokenVerifier } from '../bus/podtoken.ts';
import type { Config } from '../config.ts';
import { PODS, isKubeError, type KubeClient, type Pod } from '../kube/client.ts';
import type { Reflector } from '../kube/reflector.ts';
import { type Logger, runnerFields } from '../log.ts';
import { isRunnerPod } from './catalog/prove.ts';
import type { ControllerMetrics } from './metrics.ts';

export interface AdmitRunnersDeps {
  bus: Bus;
  kube: KubeClient;
  config: Config<'controller'>;
  log: Logger;
  metrics: ControllerMetrics;
  pods: Reflector<Pod>;
  issuerSeed: string;
}

export type AdmittingRunners = ReturnType<typeof serveCallout>;

export function admitRunners({
  bus,
  kube,
  config,
  log,
  metrics,
  pods,
  issuerSeed,
}: AdmitRunnersDeps): AdmittingRunners {
  const isOurPod = async ({ uid, pod }: { uid: string; pod: string }): Promise<boolean> => {
    const known =
      pods.by('uid', uid)[0] ??
      (await kube.get(PODS, pod, { namespace: config.runnerNamespace }).catch((error: unknown) => {
        if (isKubeError(error, 'not-found')) return undefined;
        throw error;
      }));
    return known !== undefined && known.metadata.uid === uid && isRunnerPod(known);
  };
  return serveCallout(bus, {
    issuerSeed,
    account: config.natsAccount,
    authorise: podTokenVerifier({
      jwks: () => kube.jwks(),
      issuer: () => kube.issuer(),
      namespace: config.runnerNamespace,
      serviceAccount: config.runnerServiceAccount,
      isOurPod,
    }),
    onDecision: (decision) => {
      metrics.callout(decision.ok ? 'accepted' : 'refused');
      if (decision.ok) log.info(runnerFields(decision), 'runner connected to NATS');
      else log.warn({ code: decision.code, reason: decision.message }, 'refused a connection to NATS');
    },
  });
}

/** Closes the NATS connection of a deleted pod, whose token stays valid for a while. */
export function cutOff(callout: AdmittingRunners, log: Logger, pod: Pod): void {
  if (!isRunnerPod(pod)) return;
  const { name, uid = '' } = pod.metadata;
  void callout.kick(uid).catch((error: unknown) => {
    log.debug({ err: error, ...runnerFields({ pod: name, uid }) }, 'cannot close the NATS connection of a runner');
  });
}
