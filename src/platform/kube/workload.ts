/** The Workload of Kueue, as far as an integration makes and follows it. */
import { servedBy, type KubeObject, type ResourceType } from './kinds.ts';
import type { Condition } from './resource.ts';

export interface Workload extends KubeObject {
  spec: {
    queueName?: string;
    active?: boolean;
    priority?: number;
    priorityClassRef?: { group: string; kind: string; name: string };
    podSets: { name: string; count: number; template: object }[];
  };
  status?: { conditions?: Condition[]; admission?: object };
}

const kueue = servedBy('kueue.x-k8s.io', 'v1beta2');
export const WORKLOADS = kueue<Workload>('workloads', 'Workload');
export const WORKLOAD_PRIORITY_CLASSES: ResourceType<KubeObject & { value: number }> = kueue(
  'workloadpriorityclasses',
  'WorkloadPriorityClass',
  false,
);

/** Labels of a ProbeBatch that Kueue defines. */
export const KUEUE_LABEL = {
  queue: 'kueue.x-k8s.io/queue-name',
  priority: 'kueue.x-k8s.io/priority-class',
  /** Of an object that MultiKueue has sent here: its Workload came with it. */
  prebuilt: 'kueue.x-k8s.io/prebuilt-workload-name',
  /** Of the same object: MultiKueue deletes it when it has read how it ended. */
  origin: 'kueue.x-k8s.io/multikueue-origin',
} as const;

/** In `spec.managedBy`: the object runs in another cluster. */
export const MULTIKUEUE = 'kueue.x-k8s.io/multikueue';
