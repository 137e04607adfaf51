/**
 * The role `secrets-init`, run outside the cluster: makes every Secret that the chart expects and prints them, for
 * SOPS, Vault or External Secrets. With them the chart is installed with setup.enabled=false.
 */
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { natsTls } from './certificates.ts';
import { admin, boxKeys, natsAuth, postgres, sealKeys, SECRET_NAMES, type SecretData } from './secrets.ts';

type Made = Partial<Record<keyof typeof SECRET_NAMES, SecretData>>;

async function allSecrets(options: Options): Promise<Made> {
  const { name, namespace, 'external-nats': externalNats, 'external-postgres': externalPostgres } = options;
  const host = (server: string, suffix: string): string => `${name}-${server}${suffix}`;
  const hosts = ['', `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.cluster.local`];
  const database = host('postgres', `.${namespace}.svc`);
  const seal = await sealKeys();
  const box = boxKeys();
  return {
    ...(externalNats ? {} : { natsTls: await natsTls(hosts.map((suffix) => host('nats', suffix))) }),
    natsAuth: natsAuth(),
    ...(externalPostgres
      ? {}
      : {
          postgres: postgres(database),
          postgresApi: postgres(database, 'probeyard_api'),
          postgresController: postgres(database, 'probeyard_controller'),
        }),
    sealPublic: seal.public,
    sealPrivate: seal.private,
    admin: admin(options['admin-email'], box),
    box,
  };
}

const named = (made: Made): [string, SecretData][] =>
  (Object.entries(made) as [keyof typeof SECRET_NAMES, SecretData][]).map(([kind, data]) => [SECRET_NAMES[kind], data]);
const documents = (objects: object[]): string =>
  objects.map((object) => `---\n${stringify(object, { lineWidth: 0 })}`).join('');

/** Kubernetes Secrets; `sops --encrypt --encrypted-regex '^stringData$'` keeps their names readable. */
const manifests = (made: Made, { namespace }: Options): string =>
  documents(
    named(made).map(([name, stringData]) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace, labels: { 'app.kubernetes.io/name': 'probeyard' } },
      type: 'Opaque',
      stringData,
    })),
  );

/** One line of JSON for each Secret, as `vault kv put` reads it from its standard input. */
const values = (made: Made): string =>
  named(made)
    .map(([name, data]) => `${JSON.stringify({ name, data })}\n`)
    .join('');

/** Objects of External Secrets, which hold no secret: they say where each one is. */
const externalSecrets = (made: Made, { namespace, store, path }: Options): string =>
  documents(
    named(made).map(([name]) => ({
      apiVersion: 'external-secrets.io/v1',
      kind: 'ExternalSecret',
      metadata: { name, namespace },
      spec: {
        secretStoreRef: { kind: 'ClusterSecretStore', name: store },
        // A key that changes on its own would be a rotation without its steps.
        refreshPolicy: 'OnChange',
        target: { name, creationPolicy: 'Owner', deletionPolicy: 'Retain' },
        dataFrom: [{ extract: { key: `${path}/${name}` } }],
      },
    })),
  );

const USAGE = `usage: main.ts secrets-init [--format manifests|json|external-secrets] [--name probeyard]
  [--namespace probeyard] [--admin-email admin@example.org] [--external-nats] [--external-postgres]
  [--store NAME] [--path secret/probeyard]`;

export async function answer(args: readonly string[]): Promise<string> {
  const options = parsed(args);
  if (!/^[^@\s]+@[^@\s]+$/.test(options['admin-email']))
    throw new Error(`--admin-email is not an e-mail address\n${USAGE}`);
  const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
  for (const name of ['name', 'namespace'] as const)
    if (!label.test(options[name])) throw new Error(`--${name} is not a name of Kubernetes\n${USAGE}`);
  const made = await allSecrets(options);
  if (options.format === 'manifests') return manifests(made, options);
  if (options.format === 'json') return values(made);
  if (options.format === 'external-secrets') return externalSecrets(made, options);
  throw new Error(`--format must be one of manifests, json, external-secrets\n${USAGE}`);
}

type Options = ReturnType<typeof parsed>;

function parsed(args: readonly string[]) {
  const text = (fallback: string) => ({ type: 'string' as const, default: fallback });
  const flag = { type: 'boolean' as const, default: false };
  try {
    return parseArgs({
      args: [...args],
      options: {
        format: text('manifests'),
        // The chart's `probeyard.name`: the release, or its fullnameOverride.
        name: text('probeyard'),
        namespace: text('probeyard'),
        'admin-email': text('admin@localhost'),
        // Without Secrets of servers that are not installed.
        'external-nats': flag,
        'external-postgres': flag,
        store: text('vault'),
        path: text('probeyard'),
      },
    }).values;
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${USAGE}`, { cause: error });
  }
}

export async function run(): Promise<void> {
  process.stdout.write(await answer(process.argv.slice(3)));
}
