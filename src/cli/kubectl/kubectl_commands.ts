/** Every command of the plugin of kubectl. */
import { oneOf, type Command, type Option } from '../command.ts';
import { PARALLEL, TIMES, VERSIONS } from '../commands/request_options.ts';

const JOB = { name: 'JOB', help: 'name of a ProbeJob: NAME or pj/NAME' } as const;
const FILE = (help: string): Option => ({ name: 'file', short: 'f', value: 'FILE', isFile: true, help });

const PLACE: readonly Option[] = [
  { name: 'namespace', short: 'n', value: 'NAME', help: 'namespace of the release; default: probeyard' },
  { name: 'context', value: 'NAME', help: 'context of the kubeconfig' },
  { name: 'kubeconfig', value: 'FILE', isFile: true, help: 'kubeconfig file' },
];

/** Of commands about jobs, which may be in the namespace of a tenant. */
const JOB_PLACE: readonly Option[] = [
  { name: 'namespace', short: 'n', value: 'NAME', help: 'namespace of the job; default: probeyard' },
  { name: 'release-namespace', value: 'NAME', help: 'namespace of the release; default: that of the job' },
  ...PLACE.slice(1),
];

const TOKEN_SECRET: Option = {
  name: 'token-secret',
  value: 'NAME',
  help: 'Secret whose key token is the API token, unless PROBEYARD_TOKEN is set; default: probeyard-admin',
};

const listing = (name: 'tools' | 'pools' | 'top', summary: string, does: string): Command => ({
  name,
  summary,
  options: PLACE,
  formats: ['table', 'json', 'yaml'],
  examples: { [does]: `kubectl probeyard ${name}` },
  run: async () => (await import('./lists.ts'))[name],
});

/** Both programs have it. */
export const DOCTOR: Command = {
  name: 'doctor',
  summary: 'Check a cluster: walls, network, DNS, clock, storage, and the values that fit it',
  description: [
    'Starts short pods with the rights of kubectl, and deletes them: one as API and controllers are, one with the ' +
      'labels of a runner, and one each with a user namespace, an image volume and a claim of 1 GiB.',
    'With --install-check it needs no installation: the pods run in a namespace of their own, which is deleted ' +
      'afterwards.',
    'The exit code is 1 where a check failed, and 3 where a pod did not start and so nothing is known.',
  ],
  options: [
    { name: 'install-check', help: 'check a cluster before the installation' },
    { name: 'image', value: 'IMAGE', help: 'image of Probeyard; default: that of the installation' },
    { name: 'storage-class', value: 'NAME', help: "storage class to measure; default: the cluster's" },
    { name: 'runtime-class', value: 'NAME', help: 'RuntimeClass of the runners, if they have one' },
    { name: 'skip', value: 'POD', many: true, help: 'leave out a pod: storage, image-volume, user-namespace …' },
    { name: 'timeout', value: 'SECONDS', help: 'how long pods may take; default: 120' },
    { name: 'manifest', help: 'print what --install-check creates, for kubectl apply, and end' },
    ...PLACE,
  ],
  formats: ['table', 'json', 'yaml'],
  examples: {
    'an installation': 'probeyard doctor',
    'a cluster before the installation':
      'probeyard doctor --install-check --image registry.example.com/media/probeyard/probeyard:0.2.0',
  },
  run: async () => (await import('../doctor/doctor.ts')).default,
};

export const KUBECTL_COMMANDS: readonly Command[] = [
  {
    name: 'probe',
    summary: 'Make a ProbeJob, wait for its end and print the result',
    description: [
      'The job runs on the default token, or in the namespace of a tenant on one of its account, with the right to ' +
        'create ProbeJobs. Its result is read from the API. Ctrl-C deletes the job, which cancels it.',
      'An address with a password or a query must not stand in a resource: put it into a Secret with the label ' +
        'probeyard.dev/source=true.',
    ],
    positionals: [{ name: 'URL', help: 'address of a file, playlist or stream', optional: true }],
    options: [
      { name: 'secret', value: 'NAME', help: 'Secret that holds the address instead: NAME, or NAME/KEY' },
      ...VERSIONS,
      { name: 'policy', short: 'p', value: 'POLICY', help: 'a shared policy, such as shared/web-mp4' },
      ...TIMES,
      TOKEN_SECRET,
      ...JOB_PLACE,
    ],
    formats: ['table', 'json', 'yaml'],
    examples: {
      'what is in a file': 'kubectl probeyard probe https://media.example.com/film.mp4',
      'an address that is kept in a Secret': 'kubectl probeyard probe --secret film-address',
    },
    run: async () => (await import('./probe_by_job.ts')).default,
  },
  {
    name: 'result',
    summary: 'Print the result of a ProbeJob',
    positionals: [JOB],
    options: [TOKEN_SECRET, ...JOB_PLACE],
    formats: ['table', 'json', 'yaml'],
    examples: {
      'of a job that was made by hand': 'kubectl probeyard result pj/by-hand -o json',
    },
    run: async () => (await import('./probe_by_job.ts')).runResult,
  },
  {
    name: 'explain',
    summary: 'Say why a job waits, or why it failed',
    description: ['From the status of the job, its pool, its tools and their Events.'],
    positionals: [JOB],
    options: JOB_PLACE,
    formats: ['table', 'json', 'yaml'],
    examples: {
      'why does it wait?': 'kubectl probeyard explain pj/019a5f3e-8a00-7000-8000-000000000001',
    },
    run: async () => (await import('./explain_job.ts')).default,
  },
  listing(
    'tools',
    'List tool versions, what each binary says of itself, and what is wrong with it',
    'which versions are ready',
  ),
  listing('pools', 'List pools of runners, and what each of them lacks', 'are there runners?'),
  listing('top', 'Show pools, and the jobs that run and wait', 'what goes on'),
  {
    name: 'upgrade',
    summary: 'Say what would change with another version of a tool',
    description: [
      'Compares two versions on each address and sums up which fields change, on how many files. With --policy also ' +
        'on how many files the outcome of a policy would change.',
    ],
    positionals: [
      { name: 'TOOL', ...oneOf(['ffprobe', 'mediainfo']) },
      { name: 'FROM', help: 'the version of today' },
      { name: 'TO', help: 'the version to come' },
      { name: 'URL', help: 'addresses to compare on', many: true, optional: true },
    ],
    options: [
      FILE('file with an address on each line'),
      { name: 'policy', short: 'p', value: 'POLICY', many: true, help: 'policy whose outcomes may change' },
      PARALLEL,
      ...TIMES,
      TOKEN_SECRET,
      ...PLACE,
    ],
    formats: ['table', 'json', 'yaml'],
    examples: {
      'before the operator moves "latest"':
        'kubectl probeyard upgrade ffprobe 7.1 9.0 -f addresses.txt --policy shared/web-mp4',
    },
    run: async () => (await import('./upgrade.ts')).default,
  },
  {
    name: 'support-bundle',
    summary: 'Collect resources, Events and logs into an archive, without credentials',
    description: [
      'Reads no Secret and no ConfigMap. Tokens, passwords, values of variables and the queries of addresses are ' +
        'taken out. At most 32 MB.',
    ],
    options: [
      FILE('the archive; default: probeyard-support-TIME.tar.gz'),
      { name: 'runners-namespace', value: 'NAME', help: 'namespace of the runners; default: NAMESPACE-runners' },
      ...PLACE,
    ],
    examples: {
      'for whoever looks into it': 'kubectl probeyard support-bundle -f bundle.tar.gz',
    },
    run: async () => (await import('./support_bundle.ts')).default,
  },
  DOCTOR,
];
