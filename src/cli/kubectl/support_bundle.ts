import { open } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import type { Run } from '../command.ts';
import { EXIT, Failure, usage } from '../failure.ts';
import { bytes, several } from '../output/figures.ts';
import { kubectlOf, type Kubectl } from './kubectl.ts';
import { redacted, withoutSecrets } from './redact.ts';
import type { Job, List, Pod } from './resources.ts';
import { tarOf, type File } from './tar.ts';

/** Of one file, and of all of them. What is longer is cut, and says so. */
const FILE_BYTES = 2 * 1024 * 1024;
const ALL_BYTES = 32 * 1024 * 1024;
const LINES = 5_000;
const JOBS = 200;
const RUNNERS = 10;

/** Never Secrets, nor ConfigMaps. */
const RESOURCES = [
  'probetools',
  'probepools',
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

async function newestJobs(kubectl: Kubectl): Promise<string> {
  const { items } = await kubectl.get<List<Job>>('probejobs', '--sort-by=.metadata.creationTimestamp');
  const kept = items.slice(-JOBS);
  // The display of a source has neither user info nor query; its whole address is left out.
  const shown = kept.map((job) => {
    const { display } = job.spec.source ?? {};
    return { ...job, spec: { ...job.spec, source: display === undefined ? {} : { display } } };
  });
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
    { name: 'probejobs.json', read: () => newestJobs(kubectl) },
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
  const kubectl = kubectlOf(invocation, invocation);
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
  terminal.progress('');
  if (left.length > 0) files.push({ name: 'left-out.txt', content: Buffer.from(redacted(`${left.join('\n')}\n`)) });
  const archive = gzipSync(tarOf(files, now));
  // Not over a file that is there, and for nobody else to read.
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw usage(`${path}: ${error.code === 'EEXIST' ? 'exists already' : `cannot be written: ${error.code}`}`);
  });
  try {
    await file.writeFile(archive);
  } finally {
    await file.close();
  }
  terminal.note(`${several(files.length, 'file')}, ${bytes(archive.length)}; ${left.length} left out`);
  terminal.note('credentials were taken out as far as they can be recognised: look through it before you send it');
  await terminal.data(`${path}\n`);
  return EXIT.done;
};
export default run;
