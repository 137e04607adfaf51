/**
 * What callers can make the event loop of an API replica do, by the finding of the second review that first showed it.
 * The neighbour is compared with itself while the same requests are sent to a server that drops them.
 */
import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { PROBE_JOBS } from '../../../src/platform/kube/client.ts';
import { NAMESPACE, fixtures, type Cluster } from '../../cluster/fixture.ts';
import { serveContent } from '../../node/origin.ts';
import type { Attack, Finding } from './attacks.ts';

const SIGN_IN = '/frontend/api/v1/auth/sign-in';
/**
 * Of each of two senders. The review sent 1 to 9 a second in all, which was what the API answered then. Many more would
 * measure the sender, which shares the machine.
 */
const PER_SECOND = 10;

type Request = Omit<RequestInit, 'headers'> & { path: string; headers?: Record<string, string> };

/** `atOnce`: open requests of each of the two senders. */
const sending = (
  { url }: Pick<Cluster, 'url'>,
  atOnce: number,
  requestOf: (token: string, index: number) => Request,
  perSecond = PER_SECOND,
): Attack => ({
  perSecond,
  atOnce,
  async send(token, index, signal) {
    const { path, ...init } = requestOf(token, index);
    const response = await fetch(`${url}${path}`, { ...init, signal });
    await response.arrayBuffer();
  },
  sentTo: (other) => sending({ url: other }, atOnce, requestOf, perSecond),
});

const MEGABYTE = 1_000_000;
const nested = '{"a":' + '['.repeat(MEGABYTE / 2 - 8) + ']'.repeat(MEGABYTE / 2 - 8) + '}';

/** Nobody: no credential is sent. */
const signIn = (c: Cluster, atOnce: number, body: string | Buffer<ArrayBuffer>, headers: Record<string, string>) =>
  sending(c, atOnce, () => ({ path: SIGN_IN, method: 'POST', headers, body }));

function multipart(): { body: string; headers: Record<string, string> } {
  const part = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n';
  return {
    body: `${part.repeat(15_800)}--x--\r\n`,
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** 9,900 rules of one name. */
function mediaConch(): string {
  const rule = '<rule name="same" value="Format" tracktype="General" occurrence="*" operator="=">MXF</rule>';
  return `<policy type="and" name="p">${rule.repeat(9_900)}</policy>`;
}

/** A policy of about `bytes`, valid but for its number of rules. */
const yamlPolicy = (bytes: number): string => {
  const rule = '  - { name: r, field: container.format, in: [mp4, mov] }\n';
  return `rules:\n${rule.repeat(Math.floor(bytes / rule.length))}`;
};

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const putPolicy = (c: Cluster, type: string, body: string): Attack =>
  sending(c, 2, (token, index) => ({
    path: `/v1/policy/attack-${index % 4}`,
    method: 'PUT',
    headers: { ...bearer(token), 'content-type': type },
    body,
  }));

async function inlinePolicy(c: Cluster): Promise<Attack> {
  const body = JSON.stringify({ request_ids: [randomUUID()], policy: yamlPolicy(62_000) });
  return sending(c, 2, (token) => ({
    path: '/v1/policy/inline/evaluate',
    method: 'POST',
    headers: { ...bearer(token), ...JSON_TYPE },
    body,
  }));
}

/** A result of nearly 2 MB, which `get_result` shortens. */
async function longMcpAnswers(c: Cluster, token: string): Promise<Attack> {
  const frame = Buffer.concat([Buffer.from([255, 251, 144, 0]), Buffer.alloc(413)]);
  const file = Buffer.concat(Array.from({ length: 5_000 }, () => frame));
  const origin = await c.origin((request, response) => serveContent(file, request, response));
  const body = { url: `${origin.url}/a.mp3`, only: 'ffprobe', ffprobe: { show_packets: true } };
  const { status, headers, text } = await c.probe(body, { token });
  if (status !== 200) throw new Error(`the long result was not made: ${status} ${text.slice(0, 300)}`);
  const id = headers.get('x-request-id');
  return sending(c, 3, (by, index) => ({
    path: '/mcp',
    method: 'POST',
    headers: { ...bearer(by), ...JSON_TYPE, accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: index,
      method: 'tools/call',
      params: { name: 'get_result', arguments: { request_id: id } },
    }),
  }));
}

/** The rate of the account is used up at once: the rest is refused. */
async function uploadsOverRate(c: Cluster): Promise<Attack> {
  const boundary = 'y';
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(head), Buffer.alloc(20 * MEGABYTE), Buffer.from(`\r\n--${boundary}--\r\n`)]);
  return sending(c, 2, (token) => ({
    path: '/v1/probe/file',
    method: 'POST',
    headers: { ...bearer(token), 'content-type': `multipart/form-data; boundary=${boundary}` },
    body,
  }));
}

/** 16 jobs a second, created with the rights of a submitter. */
async function jobsByHand(c: Cluster): Promise<Attack> {
  const origin = await c.origin(fixtures);
  const made: string[] = [];
  return {
    perSecond: 8,
    atOnce: 8,
    async send(_, index, signal) {
      signal.throwIfAborted();
      const name = `attack-${index}-${randomUUID().slice(0, 8)}`;
      const spec = { kind: 'file' as const, source: { url: `${origin.url}/tiny.mp4` } };
      await c.kube.create(PROBE_JOBS, { metadata: { name, namespace: NAMESPACE }, spec });
      made.push(name);
    },
    async stop() {
      for (const name of made) await c.kube.delete(PROBE_JOBS, name, { namespace: NAMESPACE }).catch(() => {});
    },
  };
}

/** Many tokens of one user, as fast as all of them may. */
async function manyTokens(c: Cluster, token: string): Promise<Attack> {
  const origin = await c.origin(fixtures);
  const tokens = [token];
  for (let index = 0; index < 39; index++) {
    const answer = await fetch(`${c.url}/frontend/api/v1/auth/api-token`, {
      method: 'POST',
      headers: { ...bearer(token), ...JSON_TYPE },
      body: JSON.stringify({ name: `many-${index}` }),
    });
    if (answer.status === 201) tokens.push(((await answer.json()) as { token: string }).token);
    else await answer.arrayBuffer();
  }
  return sending(
    c,
    10,
    (_, index) => ({
      path: '/v1/probe/file',
      method: 'POST',
      headers: { ...bearer(tokens[index % tokens.length]!), ...JSON_TYPE, prefer: 'respond-async' },
      body: JSON.stringify({ url: `${origin.url}/tiny.mp4?${index}`, only: 'ffprobe' }),
    }),
    10,
  );
}

const sent = (id: string, title: string, make: Finding['make']): Finding => ({
  id,
  title,
  make,
  beside: 'a bare server',
});

export const LOOP_FINDINGS: readonly Finding[] = [
  sent(
    'II-H1 gzip',
    'a caller without a credential sends a megabyte of brackets as 1 kB of gzip, 4 at once',
    async (c) => signIn(c, 2, gzipSync(nested), { ...JSON_TYPE, 'content-encoding': 'gzip' }),
  ),
  sent('II-H1 JSON', 'a caller without a credential sends a megabyte of brackets, 16 at once', async (c) =>
    signIn(c, 8, nested, JSON_TYPE),
  ),
  sent('II-H1 form', 'a caller without a credential sends 15,800 parts of a form, 4 at once', async (c) => {
    const { body, headers } = multipart();
    return signIn(c, 2, body, headers);
  }),
  sent('II-H2', 'an account imports MediaConch policies of 9,900 rules of one name, 4 at once', async (c) =>
    putPolicy(c, 'application/xml', mediaConch()),
  ),
  sent('II-H3', 'an account has MCP shorten a result of 2 MB, 6 at once', longMcpAnswers),
  sent('II-M1', 'an account uploads 20 MB again and again, over its rate, 4 at once', uploadsOverRate),
  sent('II-M2 save', 'an account saves policies of 55 kB, 4 at once', async (c) =>
    putPolicy(c, 'application/yaml', yamlPolicy(55_000)),
  ),
  sent('II-M2 keys', 'an account saves a policy of 101 bytes whose keys are maps, 4 at once', async (c) =>
    putPolicy(c, 'application/yaml', `${'? '.repeat(50)}a`),
  ),
  sent('II-M2 evaluate', 'an account judges by an inline policy of 62 kB, 4 at once', inlinePolicy),
  { id: 'II-M3', title: 'a user of kubectl creates 16 ProbeJobs a second', make: jobsByHand, beside: 'nothing' },
  { id: 'II-M4', title: 'an account has 40 tokens and probes with all of them', make: manyTokens, beside: 'nothing' },
];
