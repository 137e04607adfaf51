/** What a runner pod says of itself. The annotation is the only record of its life, and only the leader writes it. */
import { lifeIn, MAX_LIFE } from '../../../platform/bus/runner_id.ts';
import type { Pod } from '../../../platform/kube/kinds.ts';
import { LABEL } from '../../../platform/kube/resource.ts';
import { ANNOTATION, isOver } from './pod.ts';
import type { PodFacts } from './runners.ts';

/** One that no agent has, if somebody else wrote the annotation: the pod is then replaced. */
const NO_LIFE = MAX_LIFE + 1;

export const lifeOfPod = ({ metadata }: Pod): number => lifeIn(metadata.annotations?.[ANNOTATION.life]) ?? NO_LIFE;

export const factsOf = (pod: Pod): PodFacts => ({
  uid: pod.metadata.uid ?? '',
  life: lifeOfPod(pod),
  version: pod.metadata.resourceVersion,
  pod: pod.metadata.name,
  pool: pod.metadata.labels?.[LABEL.pool] ?? '',
  generation: pod.metadata.labels?.[LABEL.generation] ?? '',
  deleting: pod.metadata.deletionTimestamp !== undefined,
  ended: isOver(pod),
  userNamespace: pod.spec?.hostUsers === false,
  node: pod.spec?.nodeName,
});

/** A merge patch. The uid keeps it from another pod of the same name. */
export const lifePatch = (uid: string, life: number) => ({
  metadata: { uid, annotations: { [ANNOTATION.life]: String(life) } },
});
