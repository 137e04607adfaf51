/** `support-bundle`: what helps others to find a fault, in one archive, without secrets. */
import { open } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import type { Run } from '../command.ts';
import { EXIT, Failure, usage } from '../exits.ts';
import { bytes } from '../../base/scaled.ts';
import { END_OF_ARCHIVE, headerOf, padding } from '../../base/tar.ts';
import { several } from '../output/text_table.ts';
import { kubectlOf, type Kubectl } from './run_kubectl.ts';
import type { List, Pod } from './cluster_resources.ts';

interface File {
  name: string;
  content: Buffer;
}

export function tarOf(files: readonly File[], modified: Date): Buffer {
  const seconds = Math.floor(modified.getTime() / 1_000);
  const members = files.flatMap(({ name, content }) => [
    headerOf(name, content.length, seconds),
    content,
    padding(content.length),
  ]);
  return Buffer.concat([...members, END_OF_ARCHIVE]);
}

// Takes out of a text what must not leave the cluster: credentials, tokens, and the queries of addresses.

/** Keys are never shown, whatever they are called around. */
const WORDS = ['pass(?:word|phrase|wd)?', 'secret', 'token', 'api[-_]?key', 'private[-_]?key', 'credential'];
const SECRET_NAME = `(?:${[...WORDS, 'authorization', 'cookie', 'sealed', 'signature'].join('|')})`;

const RULES: readonly [RegExp, string][] = [
  [/-----BEGIN [A-Z0-9 ]{1,40}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,40}-----|$)/g, 'REDACTED'],
  // JWT and JWE: two to four parts after the first.
  [/eyJ[\w-]+(?:\.[\w-]*){1,4}/g, 'REDACTED'],
  [/whsec_[A-Za-z0-9+/=_-]+/g, 'REDACTED'],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, 'REDACTED'],
  // Seeds of nkeys.
  [/\bS[UANCOX][A-Z2-7]{56}\b/g, 'REDACTED'],
  [/\b(bearer|basic)(\s+|%20)[^\s"',;\\]+/gi, '$1$2REDACTED'],
  // A query, in an address or a path, up to where it must end; also with the escapes of JSON.
  [/([?&](?:[\w.[\]%-]{1,100})=)(?!REDACTED)[^\s&"'<>\\]*/g, '$1REDACTED'],
  [/(\\u0026(?:[\w.[\]%-]{1,100})=)(?!REDACTED)[^\s&"'<>\\]*/g, '$1REDACTED'],
  [/(:(?:\\?\/){2})[^\s"'<>\\]{0,1000}@/g, '$1'],
  [new RegExp(`("[^"\\n]{0,60}${SECRET_NAME}[^"\\n]{0,60}"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*"`, 'gi'), '$1"REDACTED"'],
  [
    new RegExp(
      `(\\b[\\w.-]{0,60}${SECRET_NAME}[\\w.-]{0,60}\\s*[=:]\\s*)(?!"|REDACTED|null|true|false)[^\\s"',;&}\\]]{6,}`,
      'gi',
    ),
    '$1REDACTED',
  ],
  // API tokens are 64 letters and digits. Digests of images stay: they say what runs.
  [/(?<!sha256:|[A-Za-z0-9])[A-Za-z0-9]{64}(?![A-Za-z0-9])/g, 'REDACTED'],
];

export const redacted = (text: string): string =>
  RULES.reduce((before, [pattern, shown]) => before.replaceAll(pattern, shown), text);

/** Members of resources that hold values of an operator or of a caller. */
const DROPPED = new Set([
  'managedFields',
  'sealed',
  'kubectl.kubernetes.io/last-applied-configuration',
  'data',
  'stringData',
  'binaryData',
  // Their paths may be all that receivers and hosts ask for.
  'webhook_url',
  'items_url',
]);

/** A resource without what may hold a secret: values of variables, data, sealed sources, whole addresses. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? redacted(value) : value;
  const isVariable = 'name' in value && 'value' in value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      if (DROPPED.has(name)) return [];
      if (isVariable && name === 'value') return [[name, 'REDACTED']];
      return [[name, withoutSecrets(member)]];
    }),
  );
}

/** Of one file, and of all of them. What is longer is cut, and says so. */
const FILE_BYTES = 2 * 1024 * 1024;
const ALL_BYTES = 32 * 1024 * 1024;
const LINES = 5_000;
const NEWEST = 200;
const RUNNERS = 10;

/** Never Secrets, nor ConfigMaps. */
const RESOURCES = [
  'probetools',
  'probepools',
  'probepolicies',
  'probesources',
  'deployments',
  'statefulsets',
  'jobs',
  'services',
  'networkpolicies',
  'leases',
  'events',
] as const;

interface Source {
  name: string;
  read(): Promise<string>;
}

const resource =
  (kubectl: Kubectl, kind: string, more: readonly string[] = []) =>
  async (): Promise<string> =>
    JSON.stringify(withoutSecrets(await kubectl.get<unknown>(kind, ...more)), null, 1);

/** Of which there may be many, without the addresses of files. */
const OF_CALLERS: Readonly<Record<string, (spec: Spec) => object>> = {
  // The display of a source has neither user info nor query.
  probejobs: ({ source = {} }) => ({ source: source.display === undefined ? {} : { display: source.display } }),
  probebatches: ({ request }) => ({ request: { ...request, items: request?.items?.length } }),
};
interface Spec {
  source?: { display?: string };
  request?: { items?: unknown[] };
}

async function newest(kubectl: Kubectl, kind: string, shownOf: (spec: Spec) => object): Promise<string> {
  const { items } = await kubectl.get<List<{ spec: Spec }>>(kind, '--sort-by=.metadata.creationTimestamp');
  const kept = items.slice(-NEWEST);
  const shown = kept.map((one) => ({ ...one, spec: { ...one.spec, ...shownOf(one.spec) } }));
  return JSON.stringify({ left_out: items.length - kept.length, items: withoutSecrets(shown) }, null, 1);
}

function logs(kubectl: Kubectl, namespace: string, { metadata, spec }: Pod): Source[] {
  return (spec?.containers ?? []).map(({ name: container }) => ({
    name: `logs/${namespace}/${metadata.name}.${container}.log`,
    read: () =>
      kubectl.run([`--namespace=${namespace}`, 'logs', metadata.name, `--container=${container}`, `--tail=${LINES}`], {
        mostBytes: FILE_BYTES,
      }),
  }));
}

async function sourcesOf(kubectl: Kubectl, runners: string): Promise<Source[]> {
  const own = await kubectl.get<List<Pod>>('pods');
  const theirs = await kubectl
    .get<List<Pod>>('pods', `--namespace=${runners}`, '--sort-by=.metadata.creationTimestamp')
    .catch((error: unknown) => {
      if (error instanceof Failure) return { items: [] };
      throw error;
    });
  return [
    { name: 'version.json', read: () => kubectl.run(['version', '--output=json']) },
    ...RESOURCES.map((kind) => ({ name: `${kind}.json`, read: resource(kubectl, kind) })),
    ...Object.entries(OF_CALLERS).map(([kind, shownOf]) => ({
      name: `${kind}.json`,
      read: () => newest(kubectl, kind, shownOf),
    })),
    { name: 'pods.json', read: () => Promise.resolve(JSON.stringify(withoutSecrets(own), null, 1)) },
    { name: 'runner-pods.json', read: () => Promise.resolve(JSON.stringify(withoutSecrets(theirs), null, 1)) },
    { name: 'runner-events.json', read: resource(kubectl, 'events', [`--namespace=${runners}`]) },
    ...own.items.flatMap((pod) => logs(kubectl, kubectl.namespace, pod)),
    ...theirs.items.slice(-RUNNERS).flatMap((pod) => logs(kubectl, runners, pod)),
  ];
}

function cut(text: string): Buffer {
  const content = Buffer.from(redacted(text));
  if (content.length <= FILE_BYTES) return content;
  return Buffer.concat([content.subarray(0, FILE_BYTES), Buffer.from('\n(cut here)\n')]);
}

const run: Run = async (invocation) => {
  const { terminal } = invocation;
  const kubectl = kubectlOf(invocation);
  const now = new Date();
  const path = invocation.text('file') ?? `probeyard-support-${now.toISOString().replaceAll(/[:.]/g, '-')}.tar.gz`;
  const runners = invocation.text('runners-namespace') ?? `${kubectl.namespace}-runners`;
  const files: File[] = [];
  const left: string[] = [];
  let total = 0;
  for (const { name, read } of await sourcesOf(kubectl, runners)) {
    terminal.progress(name);
    try {
      const content = cut(await read());
      if (total + content.length > ALL_BYTES) left.push(`${name}: the bundle is full`);
      else files.push({ name, content });
      total += content.length;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      left.push(`${name}: ${error.message}`);
    }
  }
  if (left.length > 0) files.push({ name: 'left-out.txt', content: Buffer.from(redacted(`${left.join('\n')}\n`)) });
  const archive = gzipSync(tarOf(files, now));
  // Not over a file that is there, and for nobody else to read.
  await using file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw usage(`${path}: ${error.code === 'EEXIST' ? 'exists already' : `cannot be written: ${error.code}`}`);
  });
  await file.writeFile(archive);
  terminal.note(`${several(files.length, 'file')}, ${bytes(archive.length)}; ${left.length} left out`);
  terminal.note('credentials were taken out as far as they can be recognised: look through it before you send it');
  await terminal.data(`${path}\n`);
  return EXIT.done;
};
export default run;
