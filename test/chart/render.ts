/** Renders the chart with the real helm binary, and parses its output. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { binary } from '../kube/apiserver.ts';

export const CHART = fileURLToPath(new URL('../../charts/probeyard', import.meta.url));
const RELEASE = 'probeyard';
const NAMESPACE = 'probeyard';

export interface Rendered {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  // oxlint-disable-next-line typescript/no-explicit-any -- objects of every kind: each test looks at what it knows
  [member: string]: any;
}

export interface HelmResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Names another program of Helm, of another version: the tests then use that one. */
export const HELM_PROGRAM = 'PROBEYARD_HELM';

export function helm(args: string[], values: object = {}): HelmResult {
  const result = spawnSync(
    process.env[HELM_PROGRAM] ?? binary('helm'),
    [...args, ...(['uninstall', 'rollback'].includes(args[0] ?? '') ? [] : ['--values', '-'])],
    {
      encoding: 'utf8',
      input: JSON.stringify(values),
      timeout: 120_000,
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  if (result.error) throw result.error;
  return { code: result.status ?? -1, stdout: result.stdout, stderr: result.stderr };
}

export interface RenderOptions {
  kubeVersion?: string;
  release?: string;
  namespace?: string;
  /** What the cluster serves beside what Helm knows of. */
  apiVersions?: readonly string[];
}

const template = (
  values: object,
  { kubeVersion = '1.36.0', release = RELEASE, namespace = NAMESPACE, apiVersions = [] }: RenderOptions,
): HelmResult =>
  helm(
    [
      'template',
      release,
      CHART,
      '--namespace',
      namespace,
      '--kube-version',
      kubeVersion,
      ...apiVersions.map((version) => `--api-versions=${version}`),
    ],
    values,
  );

/** helm takes about 0.2 s and reading its YAML longer, and many tests use the same rendering. */
const rendered = new Map<string, Rendered[]>();

export function render(values: object = {}, options: RenderOptions = {}): Rendered[] {
  const key = JSON.stringify([values, options]);
  let objects = rendered.get(key);
  if (objects === undefined) {
    const { code, stdout, stderr } = template(values, options);
    if (code !== 0) throw new Error(stderr);
    objects = parsed(stdout);
    rendered.set(key, objects);
  }
  // A copy of its own, because some tests change what they get.
  return structuredClone(objects);
}

function parsed(text: string): Rendered[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [problem] = [...document.errors, ...document.warnings];
    if (problem) throw problem;
    const value = document.toJSON() as Rendered | null;
    return value ? [value] : [];
  });
}

/** The error of helm for these values. */
export function refusal(values: object, options: RenderOptions = {}): string {
  const { code, stderr } = template(values, options);
  if (code === 0) throw new Error(`accepted: ${JSON.stringify(values)}`);
  return stderr;
}

export function only(objects: Rendered[], kind: string, name: string, namespace?: string): Rendered {
  const found = objects.filter(
    (object) =>
      object.kind === kind &&
      object.metadata.name === name &&
      (namespace === undefined || object.metadata.namespace === namespace),
  );
  if (found.length !== 1) throw new Error(`${found.length} objects ${kind}/${name}`);
  return found[0]!;
}

export const isHook = (object: Rendered): boolean => object.metadata.annotations?.['helm.sh/hook'] !== undefined;

export interface PodTemplate {
  owner: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  spec: Rendered;
}

/** Every pod that these objects create. */
export function podsOf(objects: Rendered[]): PodTemplate[] {
  return objects.flatMap((object) => {
    const pod =
      object.kind === 'Pod'
        ? object
        : ((object['spec']?.template ?? object['spec']?.jobTemplate?.spec.template) as Rendered | undefined);
    if (!pod?.['spec']?.containers) return [];
    return [
      {
        owner: `${object.kind}/${object.metadata.name}`,
        labels: pod.metadata.labels ?? {},
        annotations: pod.metadata.annotations ?? {},
        spec: pod['spec'] as Rendered,
      },
    ];
  });
}

export interface Container {
  name: string;
  image: string;
  args?: string[];
  env?: { name: string; value?: string; valueFrom?: { secretKeyRef?: { name: string; key: string } } }[];
  resources: { requests: { cpu: string; memory: string }; limits: { memory: string } };
  securityContext: {
    runAsNonRoot: boolean;
    allowPrivilegeEscalation: boolean;
    readOnlyRootFilesystem: boolean;
    capabilities: { drop: string[] };
  };
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean }[];
}

export const containersOf = ({ spec }: PodTemplate): Container[] =>
  [...(spec['initContainers'] ?? []), ...spec['containers']] as Container[];

export const container = (objects: Rendered[], name: string): Container => {
  const found = podsOf(objects)
    .flatMap(containersOf)
    .find((one) => one.name === name);
  if (!found) throw new Error(`no container ${name}`);
  return found;
};

interface SecretSource {
  name: string;
  items?: { key: string; path: string }[];
}

/** The keys of Secrets in the folder that is mounted there, as `secret/key`, by file. */
export function mountedAt(objects: Rendered[], name: string, path: string): Record<string, string> {
  const pod = podsOf(objects).find((one) => containersOf(one).some((each) => each.name === name));
  const volume = container(objects, name).volumeMounts?.find(({ mountPath }) => mountPath === path)?.name;
  const volumes = (pod?.spec['volumes'] ?? []) as {
    name: string;
    projected?: { sources: { secret?: SecretSource }[] };
  }[];
  const projected = volumes.find((one) => one.name === volume)?.projected;
  return Object.fromEntries(
    (projected?.sources ?? []).flatMap(({ secret }) =>
      (secret?.items ?? []).map((item) => [item.path, `${secret?.name}/${item.key}`]),
    ),
  );
}

/** The environment of the process, with placeholders for values from elsewhere. */
export const environmentOf = ({ env = [] }: Container): Record<string, string> =>
  Object.fromEntries(env.map(({ name, value }) => [name, value ?? 'postgres://from-elsewhere/x']));
