/** What a pod of the preflight is told, as arguments: they are visible in its manifest. */
import { parseArgs } from 'node:util';

export interface Target {
  host: string;
  port: number;
}

export type Settings = ReturnType<typeof readSettings>['settings'];

export class ArgumentError extends Error {}

/** Where clouds give a node its credentials. */
const METADATA = '169.254.169.254:80';
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt';

function targetOf(text: string): Target {
  const { hostname, port } = URL.canParse(`tcp://${text}`) ? new URL(`tcp://${text}`) : { hostname: '', port: '' };
  if (hostname === '' || port === '') throw new ArgumentError(`"${text}" is not HOST:PORT`);
  return { host: hostname.replaceAll(/^\[|\]$/g, ''), port: Number(port) };
}

/** `10.96.0.1:443`, `[fd00::1]:443`. */
export const shownTarget = ({ host, port }: Target): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

function readArgs(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'api-server': { type: 'string' },
        ca: { type: 'string', default: SERVICE_ACCOUNT },
        api: { type: 'string' },
        source: { type: 'string' },
        nats: { type: 'string', multiple: true, default: [] },
        metadata: { type: 'string', default: METADATA },
        closed: { type: 'string', multiple: true, default: [] },
        name: { type: 'string', multiple: true, default: ['kubernetes.default.svc'] },
        folder: { type: 'string', default: '' },
        work: { type: 'string', default: '/tmp' },
        settle: { type: 'string', default: '5' },
        'require-network-policy': { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new ArgumentError((error as Error).message);
  }
}

export function readSettings(args: readonly string[], env: NodeJS.ProcessEnv) {
  const { positionals, values } = readArgs(args);
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  const service = host && port ? { host, port: Number(port) } : undefined;
  const settleSeconds = Number(values.settle);
  if (!(settleSeconds >= 0 && settleSeconds <= 60)) throw new ArgumentError('--settle is not 0 to 60 seconds');
  return {
    places: positionals,
    settings: {
      apiServer: values['api-server'] ?? (service ? `https://${shownTarget(service)}` : ''),
      caFile: values.ca,
      /** Probeyard's own API, where it is installed. */
      api: values.api,
      /** Address of a sample that Probeyard must be able to probe. */
      source: values.source,
      /** An API token, for the sample. It comes from the environment: arguments are visible. */
      token: env['PY_DOCTOR_TOKEN'] ?? '',
      /** Servers of NATS that a runner must reach. */
      nats: values.nats.map(targetOf),
      /** Places in the cluster that a runner must not reach. */
      closed: [...(service ? [service] : []), ...[values.metadata, ...values.closed].map(targetOf)],
      names: values.name,
      /** The folder that is looked at: a volume, or a mounted image. */
      folder: values.folder,
      work: values.work,
      /** Some networks enforce a policy only some time after a pod has started. */
      settleMs: settleSeconds * 1000,
      requireNetwork: values['require-network-policy'],
      json: values.json,
    },
  };
}
