/** Sends files to the cluster, and looks at what its API pods hold. */
import { PODS } from '../../src/platform/kube/client.ts';
import { NAMESPACE, type Cluster, type Envelope } from './fixture.ts';

interface Sent {
  fields?: Record<string, string>;
  headers?: Record<string, string>;
  token?: string;
  name?: string;
}

export async function sendFile(
  c: Cluster,
  file: Buffer,
  { fields = {}, headers = {}, token = c.token, name = 'clip.mp4' }: Sent = {},
): Promise<{ status: number; json: Envelope; text: string }> {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.set(field, value);
  form.set('file', new Blob([new Uint8Array(file)]), name);
  const response = await fetch(`${c.url}/v1/probe/file`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...headers },
    body: form,
    signal: AbortSignal.timeout(100_000),
  });
  const text = await response.text();
  let json: Envelope = { success: false };
  try {
    json = JSON.parse(text) as Envelope;
  } catch {
    // The text is returned.
  }
  return { status: response.status, json, text };
}

export interface Holder {
  pod: string;
  ip: string;
  files: number;
}

const COUNT = "console.log(require('node:fs').readdirSync('/var/lib/probeyard/uploads').length)";

/** The API pods, and how many files each has on its disk. */
export async function heldUploads(c: Cluster): Promise<Holder[]> {
  const { items } = await c.kube.listAll(PODS, {
    namespace: NAMESPACE,
    labelSelector: 'app.kubernetes.io/component=api',
  });
  return Promise.all(
    items.map(async ({ metadata: { name }, status }) => ({
      pod: name,
      ip: (status as { podIP?: string } | undefined)?.podIP ?? '',
      files: Number(await c.kubectl('-n', NAMESPACE, 'exec', name, '-c', 'api', '--', '/app/bin/node', '-e', COUNT)),
    })),
  );
}
