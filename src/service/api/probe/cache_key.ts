/** Which requests the cache of results has a part in, and which of them are equal. */
import { createHmac } from 'node:crypto';
import type { SourceException } from '../../../base/source_settings.ts';
import type { CacheKey } from '../../../platform/store/cached_results.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { isKeyed, type Source } from '../../../source/source.ts';
import type { ProbeRequest } from './probe_request.ts';
import type { Catalog } from './tool_versions.ts';

/** What the cache is asked for. */
export interface CacheAsked extends CacheKey {
  source: Source;
  /** Private places that the token may reach. */
  allow: readonly SourceException[];
}

export type CacheableRequest = Pick<
  ProbeRequest,
  'kind' | 'sources' | 'secrets' | 'tools' | 'report' | 'limits' | 'timeline' | 'policy' | 'upload'
>;

/** Why no result may answer a request, and its own result answers no other. */
const UNFIT: readonly [why: string, isUnfit: (request: CacheableRequest) => boolean][] = [
  ['a file that was sent', ({ upload }) => upload !== undefined],
  ['two sources', ({ sources }) => sources.length > 1],
  ['a playlist or a stream', ({ sources: [source] }) => source.class !== 'file'],
  ['no web address', ({ sources: [{ scheme }] }) => scheme !== 'http' && scheme !== 'https'],
  ['keys of a bucket', ({ sources: [source] }) => isKeyed(source)],
  // Headers and the name of a credential are sealed together with the address, as JSON.
  ['headers or a credential', ({ secrets }) => secrets[0].startsWith('{')],
];

/** The reason that the cache has no part in this request. */
export const unfitForCache = (request: CacheableRequest): string | undefined =>
  UNFIT.find(([, isUnfit]) => isUnfit(request))?.[0];

interface Asking {
  token: Pick<TokenRecord, 'rootUserId' | 'allow'>;
  catalog: Pick<Catalog, 'exactly'>;
  /** An address may hold a password: the key must not help to guess it. */
  secret: Uint8Array;
}

/** Undefined: the cache has no part in this request. */
export function cacheAsked(
  request: CacheableRequest,
  maxAgeS: number,
  { token: { rootUserId, allow }, catalog, secret }: Asking,
): CacheAsked | undefined {
  if (unfitForCache(request) !== undefined) return undefined;
  const { kind, sources, tools, report, timeline = false, limits, policy } = request;
  const exact = tools.map((tool) => ({ ...tool, exact: catalog.exactly(tool.name, tool.version) }));
  if (exact.some((tool) => tool.exact === undefined)) return undefined;
  const [source] = sources;
  const parts = {
    rootUserId,
    // What one token may reach, another one may not.
    allow,
    source,
    kind,
    tools: exact.sort((a, b) => (a.name < b.name ? -1 : 1)),
    report,
    timeline,
    // The verdict is a part of the result.
    policy: policy ? { name: policy.name, revision: policy.revision, digest: policy.digest } : null,
    timeoutMs: limits.timeoutMs,
  };
  const key = createHmac('sha256', secret)
    .update(`cached result\n${canonical(parts)}`)
    .digest();
  return { key, maxAgeS, rootUserId, source, allow };
}

/** A canonical form of a request, independent of the order of members and of the encoding. */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}
