/** Which checks run in which pod. */
import { cgroup, imageVolume, kernel, networkPolicy, syscallFilter, userNamespace } from './checks/runner.ts';
import { api, apiLatency, clock, dns, sample, storage } from './checks/service.ts';
import type { Probe } from './finding.ts';

export const PLACES = [
  'service',
  'installed',
  'runner',
  'user-namespace',
  'image-volume',
  'storage',
  'sample',
] as const;
/** Those that say something of the cluster alone; the others are for `helm test`. */
export const CLUSTER_PLACES = [
  'service',
  'runner',
  'user-namespace',
  'image-volume',
  'storage',
] as const satisfies Place[];
export type Place = (typeof PLACES)[number];
export const isPlace = (text: string): text is Place => (PLACES as readonly string[]).includes(text);

// oxlint-disable-next-line typescript/no-explicit-any -- facts of every form: each check reads its own
type AnyProbe = Probe<any>;

export const CHECKS_OF: Readonly<Record<Place, readonly AnyProbe[]>> = {
  /** As API and controller pods are: it may call the API server. */
  service: [apiLatency, clock, dns],
  /** As `service`, where Probeyard is installed. */
  installed: [api, apiLatency, clock, dns],
  /** As runners are, under their NetworkPolicy. */
  runner: [kernel, cgroup, syscallFilter, networkPolicy, { ...dns, id: 'dns-runner', title: 'DNS of runners' }],
  'user-namespace': [userNamespace],
  'image-volume': [imageVolume],
  storage: [storage],
  sample: [sample],
};
