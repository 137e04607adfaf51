/**
 * The API through `kubectl port-forward`, with kubectl's own rights. The proxy of the API server takes the header
 * Authorization for itself: the token would have to stand in an address, which an audit log keeps.
 */
import { makeApi, type Api } from '../api/api_client.ts';
import { checkedToken, checkedUrl } from '../cli_config.ts';
import { EXIT, Failure, usage, masked } from '../exits.ts';
import type { Invocation } from '../command.ts';
import type { List } from './cluster_resources.ts';
import type { Service } from '../../platform/kube/kinds.ts';
import type { Kubectl } from './run_kubectl.ts';

const SECRET = 'probeyard-admin';
const API_LABELS = 'app.kubernetes.io/name=probeyard,app.kubernetes.io/component=api';
const READY_MS = 30_000;

async function tokenOf(kubectl: Kubectl, { env, text }: Invocation): Promise<string> {
  const own = env['PROBEYARD_TOKEN'];
  if (own) return checkedToken(own, 'PROBEYARD_TOKEN');
  const name = text('token-secret') ?? SECRET;
  const secret = await kubectl.get<{ data?: Record<string, string> }>('secret', name);
  const encoded = secret.data?.['token'];
  if (encoded === undefined) throw usage(`the Secret ${name} has no key token`, 'set PROBEYARD_TOKEN instead');
  return checkedToken(Buffer.from(encoded, 'base64').toString(), `the Secret ${name}`);
}

async function serviceOf(kubectl: Kubectl): Promise<{ name: string; port: number } | undefined> {
  const { items } = await kubectl.get<List<Service>>('services', `--selector=${API_LABELS}`);
  const [service] = items;
  const ports = service?.spec?.ports ?? [];
  const port = ports.find(({ name }) => name === 'http') ?? ports[0];
  return service && port && { name: service.metadata.name, port: port.port };
}

/**
 * Runs a task with the API; the forwarding ends with it. People of a tenant may not forward to the release: they name
 * the address of the API.
 */
export async function withApi<T>(kubectl: Kubectl, invocation: Invocation, task: (api: Api) => Promise<T>): Promise<T> {
  const address = invocation.env['PROBEYARD_URL'];
  const [token, service] = await Promise.all([tokenOf(kubectl, invocation), serviceOf(kubectl)]);
  if (!service && address) {
    const access = { url: checkedUrl(address, 'PROBEYARD_URL'), token };
    return task(makeApi({ access, signal: invocation.signal, terminal: invocation.terminal }));
  }
  if (!service)
    throw usage(
      `there is no Probeyard in the namespace ${kubectl.namespace}`,
      'name its namespace (-n, for a tenant --release-namespace), or set PROBEYARD_URL and PROBEYARD_TOKEN',
    );
  const { name, port } = service;
  using child = kubectl.start(['port-forward', `service/${name}`, `:${port}`, '--address=127.0.0.1']);
  const { signal, terminal } = invocation;
  const url = await new Promise<URL>((resolve, reject) => {
    let [out, said] = ['', ''];
    const fail = (why: string): void => reject(new Failure(`kubectl port-forward: ${masked(why)}`, EXIT.unknown));
    const late = setTimeout(() => fail(`not ready within ${READY_MS / 1_000} s`), READY_MS);
    child.stdout!.on('data', (chunk: Buffer) => {
      out = (out + chunk.toString()).slice(-4_096);
      const local = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(out)?.[1];
      if (local === undefined) return;
      clearTimeout(late);
      resolve(new URL(`http://127.0.0.1:${local}`));
    });
    child.stderr!.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-4_096);
    });
    child.on('error', ({ message }) => fail(message));
    child.on('close', () => {
      clearTimeout(late);
      fail(said.trim() || 'it ended');
    });
  });
  return await task(makeApi({ access: { url, token }, signal, terminal }));
}
