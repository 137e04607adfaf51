/** What the cluster itself holds: admission policy, schemas, roles, network, pods of the chart. */
import type { Mutation } from '../mutation.ts';

const SERVER = 'test/chart/server.test.ts';
const NETWORK = 'test/chart/network.test.ts';
const PODS = 'test/chart/pods.test.ts';
const ROLES = 'test/chart/roles.test.ts';
const CRDS = 'test/kube/crds.test.ts';
const JOBS_CRD = 'crds/probeyard.dev_probejobs.yaml';
const ADMISSION = 'charts/probeyard/templates/admission.yaml';

export const cluster: readonly Mutation[] = [
  { guard: 'only the API names a token', file: ADMISSION, from: '|| !has(object.spec.token)', to: '|| true', test: SERVER },
  { guard: 'only the API seals a source', file: ADMISSION, from: '|| !has(object.spec.source.sealed)', to: '|| true', test: SERVER },
  { guard: 'the spec of a job does not change', file: JOBS_CRD, from: 'rule: self == oldSelf', to: 'rule: self == self', test: CRDS, grep: 'keep the spec of a ProbeJob' },
  { guard: 'a plain address has no user info and no query', file: JOBS_CRD, from: "!self.url.contains('?') && ", to: '', test: CRDS, grep: 'refuse' },
  { guard: 'nothing reaches a runner', file: 'charts/probeyard/templates/runners/networkpolicies.yaml', from: 'podSelector: {}\n  policyTypes: [Ingress, Egress]', to: 'podSelector: {}\n  policyTypes: [Egress]', test: NETWORK },
  { guard: 'runners reach nothing private', file: 'charts/probeyard/templates/_network.tpl', from: '"169.254.0.0/16" ', to: '', test: NETWORK },
  { guard: 'no pod of the chart writes to its root', file: 'charts/probeyard/templates/_pods.tpl', from: 'readOnlyRootFilesystem: true', to: 'readOnlyRootFilesystem: false', test: PODS },
  { guard: 'the runners\' namespace takes restricted pods only', file: 'charts/probeyard/templates/runners/namespace.yaml', from: 'pod-security.kubernetes.io/enforce: restricted', to: 'pod-security.kubernetes.io/enforce: privileged', test: 'test/chart/network.test.ts' },
  { guard: 'the controller reads no Secret', file: 'charts/probeyard/templates/controller/rbac.yaml', from: '{{- if .Values.jobs.secretRefs.enabled }}', to: '{{- if true }}', test: ROLES },
  { guard: 'a cache that missed a deletion is told of it by the next list', file: 'src/kube/reflector.ts', from: 'for (const key of store.keys()) if (!present.has(key)) drop(key, undefined, true);', to: '', test: 'test/kube/reflector.test.ts', grep: 'tells of deletions that it missed' },
  { guard: 'a watch that died without a word is noticed', file: 'src/kube/reflector.ts', from: 'silent = true;\n      abort.abort();', to: '', test: 'test/kube/reflector.test.ts', grep: 'died without a word' },
  { guard: 'a key is never in two workers at once', file: 'src/kube/queue.ts', from: 'if (processing.has(key)) {', to: 'if (false) {', test: 'test/kube/queue.test.ts', grep: 'never on one key twice' },
  { guard: 'a delete means the object that was meant', file: 'src/kube/client.ts', from: 'uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion }', to: 'undefined', test: 'test/kube/client.test.ts', grep: 'delete only the object that was meant' },
];
