import type { Check, Values } from '../finding.ts';

export interface DnsPods {
  namespace: string;
  labels: Readonly<Record<string, string>>;
  ports: readonly number[];
}

/** As in the chart's values. */
const DEFAULT: DnsPods = { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' }, ports: [53] };

const shownLabels = (labels: DnsPods['labels']): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');

function valuesFor({ namespace, labels, ports }: DnsPods): Values | undefined {
  const values: Values = {
    ...(namespace === DEFAULT.namespace ? {} : { 'networkPolicy.dns.namespace': namespace }),
    ...(shownLabels(labels) === shownLabels(DEFAULT.labels)
      ? {}
      : // The chart's own labels stay unless they are set to null.
        { 'networkPolicy.dns.podLabels': { 'k8s-app': null, ...labels } }),
    ...(ports.join() === DEFAULT.ports.join() ? {} : { 'networkPolicy.dns.ports': ports }),
  };
  return Object.keys(values).length === 0 ? undefined : values;
}

/** Undefined: no service of DNS was found under the names that clusters give it. */
export const dnsPods: Check<DnsPods | undefined> = {
  id: 'dns-pods',
  title: 'DNS pods',
  wanted: 'the pods that networkPolicy.dns names',
  why: 'The policies of the chart let every pod ask them, and no other server of names.',
  verdict(pods) {
    if (pods === undefined) return { status: 'unknown', found: 'no service of DNS under a known name' };
    const found = `${pods.namespace}, ${shownLabels(pods.labels)}, port ${pods.ports.join(' and ')}`;
    return { status: 'pass', found, set: valuesFor(pods) };
  },
};
