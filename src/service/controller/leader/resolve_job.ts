/**
 * Resolves a ProbeJob to a Job: its owner, sources and tools. A job that cannot run is refused with a text for its
 * caller.
 *
 * The API sealed the sources: each is an address, or an address with what is sent along, and may name a credential. The
 * secret of a credential is a mounted file: a rotated one is used at once. In its place, access is granted to the
 * controller's own identity.
 */
import { isObject } from '../../../base/is_object.ts';
import { jsonIn } from '../../../base/json_in.ts';
import { MAX_QUEUE_MS, TOOL_TIMEOUT_MS } from '../../../base/limits.ts';
import type { NamespaceBinding } from '../../../base/config.ts';
import { byNewest, nearestVersion, versionFor } from '../../../base/version_order.ts';
import { asksForPictures } from '../../../media/policy/needs.ts';
import type { Policy } from '../../../media/policy/schema.ts';
import { qc } from '../../../media/tools/qc.ts';
import { keepsPictures, mayBePrivate } from '../../../media/tools/qc_options.ts';
import { FILE_ROWS, TOOL_TABLE, type ToolName } from '../../../media/tools/table.ts';
import { runKey, type AssignedTool } from '../../../platform/bus/messages.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { SECRETS, type KubeClient } from '../../../platform/kube/client.ts';
import { isKubeError } from '../../../platform/kube/errors.ts';
import { LABEL } from '../../../platform/kube/resource.ts';
import type { Kind, ProbeJob, ToolRequest } from '../../../platform/kube/probe_job.ts';
import { isUuid } from '../../../platform/store/uuid.ts';
import { openSealed } from '../../../platform/seal/seal.ts';
import { isAdmitted } from '../../../platform/kube/conditions.ts';
import { displaySource } from '../../../source/address/redact.ts';
import { groupOf } from '../../../source/protocols/table.ts';
import type { Listing } from '../../../source/listing/listing.ts';
import { holdsCredentials, type Source, type TagAsked } from '../../../source/source.ts';
import {
  Refusal,
  idOf,
  invalid,
  isEndpoint,
  isHandMade,
  noState,
  submittedAtOf,
  timeoutOf,
  type Job,
  type JobPolicy,
} from './job.ts';
import { policyOf, type PolicyDocuments } from './policies.ts';
import { tenantOf } from '../pools/share.ts';
import type { AvailableTool, Pools } from '../pools/pools.ts';
import type { ServedNamespaces } from '../../../platform/kube/served_namespaces.ts';
import type { IntakeSettings, LeaderDeps } from './term_state.ts';
import type { TokenRecords } from './token_records.ts';
import { parseSource } from '../../../source/address/parse.ts';
import { isUploadPlace } from '../../../source/upload/place.ts';
import { uploadSource } from '../../../source/protocols/upload/upload.ts';
import { isHeaders, unfitFor, type SourceHeader } from '../../../source/headers.ts';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { IdentityError } from '../../../platform/identity/identities.ts';
import type { NamedCredential } from '../../../base/source_settings.ts';
import {
  LEAVES_BUCKET,
  leavesBucket,
  mayRead,
  SECRET_KEYS,
  withCredential,
  type SecretOf,
} from '../../../source/named_credential.ts';

/** What it needs of the term. */
export interface IntakeState {
  deps: Pick<LeaderDeps, 'store' | 'kube' | 'intake'> & { pools: Pick<Pools, 'availableTools' | 'forJob'> };
  documents: PolicyDocuments;
  tokens: Pick<TokenRecords, 'of' | 'byHand'>;
  served: ServedNamespaces;
  takeByHand(namespace: string): boolean;
}

/** Why waiting jobs of a token end without running. Running jobs continue. */
export function refusalOf(
  token: Pick<TokenRecord, 'userStatus' | 'expiresAt'> | null | undefined,
  now: number,
): Refusal | undefined {
  const refused = (text: string) => new Refusal('TokenInactive', 403, text);
  if (!token) return refused('the token was revoked');
  if (token.userStatus !== 'active') return refused(`the account is ${token.userStatus}`);
  if (token.expiresAt !== null && token.expiresAt.getTime() <= now) return refused('the token has expired');
  return undefined;
}

export function activeToken(token: TokenRecord | null | undefined, now: number): TokenRecord {
  const refusal = refusalOf(token, now);
  if (!token || refusal) throw refusal;
  return token;
}

const noSecret = (name: string): Refusal =>
  invalid(`spec.source.secretRef: no Secret ${name} with the label ${LABEL.source}=true`);

function openedText(keys: IntakeSettings['keys'], job: ProbeJob, sealed: string): string {
  try {
    return openSealed(sealed, { requestId: job.metadata.name, tokenId: job.spec.token?.id ?? 0 }, keys());
  } catch {
    throw invalid('cannot decrypt the sealed source: it belongs to another job, or its key is no longer configured');
  }
}

const openedSource = ({ keys, s3Hosts }: IntakeSettings, job: ProbeJob, sealed: string): SealedSource =>
  readSealed(openedText(keys, job, sealed), s3Hosts);

const displayOf = (sources: Sources): string => sources.map(displaySource).join(' and ');

async function sourcesOf({ kube, intake }: IntakeState['deps'], job: ProbeJob): Promise<Sources> {
  const { source, other } = job.spec;
  if (job.spec.items !== undefined) return chunkSources(intake, job);
  const first =
    source.sealed === undefined
      ? await sourceByHand(kube, intake.s3Hosts, job)
      : openedSource(intake, job, source.sealed);
  return other?.sealed === undefined ? [first] : [first, openedSource(intake, job, other.sealed)];
}

/** One seal has them all. None has credentials: such a source has a pod of its own. */
function chunkSources({ keys, s3Hosts }: IntakeSettings, job: ProbeJob): Sources {
  const texts = textsIn(openedText(keys, job, job.spec.source.sealed ?? ''));
  const [first, ...others] = texts.map((text) => readSealed(text, s3Hosts));
  if (first === undefined || texts.length !== job.spec.items) throw notValid();
  if ([first, ...others].some((source) => source.credential !== undefined || holdsCredentials(source)))
    throw notValid();
  return [first, ...others];
}

function textsIn(list: string): string[] {
  const texts = jsonIn(list);
  if (Array.isArray(texts) && texts.every((text) => typeof text === 'string')) return texts;
  throw notValid();
}

async function sourceByHand(kube: KubeClient, s3Hosts: readonly string[], job: ProbeJob): Promise<Sources[0]> {
  const { url, secretRef } = job.spec.source;
  if (url !== undefined) return readAddress(url, s3Hosts);
  if (!secretRef) throw invalid('spec.source: names no source; one of sealed, url, secretRef is required');
  try {
    const secret = await kube.get(SECRETS, secretRef.name, { namespace: job.metadata.namespace });
    // Otherwise anyone who may create jobs could have any Secret of the namespace sent to a host of their own. The
    // message is the same as for a missing Secret, so it does not reveal which ones exist.
    if (secret.metadata.labels?.[LABEL.source] !== 'true') throw noSecret(secretRef.name);
    const value = secret.data?.[secretRef.key];
    if (value === undefined)
      throw invalid(`spec.source.secretRef: the Secret ${secretRef.name} has no key ${secretRef.key}`);
    return readAddress(Buffer.from(value, 'base64').toString('utf8').trim(), s3Hosts);
  } catch (error) {
    if (isKubeError(error, 'not-found')) throw noSecret(secretRef.name);
    if (isKubeError(error, 'forbidden'))
      throw invalid(
        `spec.source.secretRef: Probeyard may not read Secrets of the namespace ${job.metadata.namespace}; ` +
          'its operator can allow it, and in the namespace of a tenant a Role for the controller does',
      );
    throw error;
  }
}

/** Opens the row of a job created with kubectl, so that it gets exactly one end like any other. */
async function openByHand(
  { served, deps: { store } }: IntakeState,
  job: ProbeJob,
  { display, scheme, policy }: { display: string; scheme: string; policy?: JobPolicy | undefined },
  token: TokenRecord,
  refused = false,
): Promise<void> {
  const { kind, createdBy } = job.spec;
  const opened = await store
    .openRequest({
      id: idOf(job),
      submittedAt: submittedAtOf(job),
      tokenId: token.id,
      userId: token.userId,
      kind,
      display,
      scheme,
      request: {
        options: { kubectl: served.keyOf(job), ...(createdBy === undefined ? {} : { 'created-by': createdBy }) },
        ...(policy ? { policy: { name: policy.name, revision: policy.revision } } : {}),
      },
      tools: (job.spec.tools ?? []).map(({ name, version }) => ({ name, version })),
      queueTimeoutMs: job.spec.queueTimeoutMs ?? MAX_QUEUE_MS,
      timeoutMs: timeoutOf(job),
      waiter: null,
      webhookUrl: null,
      idempotency: null,
      // Counted by `takeByHand`: the default token's rate is that of its calls. A refused job is recorded with its own
      // reason.
      requestsPerMinute: served.bindingOf(job) && !refused ? token.limits.requestsPerMinute : 0,
      quotas: { of: refused ? [] : token.quotas, rootUserId: token.rootUserId },
    })
    .catch((error: unknown) => {
      // Other errors are retried; this one would fail forever.
      if (isStoreError(error, 'bad-data')) throw invalid('a value of the job cannot be stored');
      throw error;
    });
  const of = served.bindingOf(job) ? `token ${token.id}` : 'the default token';
  if (opened.outcome === 'over-quota')
    throw new Refusal(
      'QuotaExceeded',
      403,
      `the monthly quota of ${of}, its user or their account is used up: ${opened.exceeded}`,
      false,
    );
  if (opened.outcome === 'rate-limited')
    throw new Refusal('RateLimited', 429, `the requests a minute of ${of} are used up; create it again later`, false);
}

/** An admitted job keeps its token even if it was revoked since: a new leader must not end running jobs. */
async function tokenFor({ tokens, served, deps: { store } }: IntakeState, job: ProbeJob): Promise<TokenRecord> {
  const { spec, status } = job;
  const binding = served.bindingOf(job);
  const id = spec.token?.id ?? (isAdmitted(status) ? status?.admittedBy?.token : undefined);
  const token = id === undefined ? await tokens.byHand(binding) : await tokens.of(id);
  if (isAdmitted(status) && id !== undefined) {
    const had = token ?? (await store.tokenEvenRevoked(id));
    if (had) return had;
  }
  if (!token && isHandMade(job)) throw invalid(binding ? noTokenOf(binding) : NO_DEFAULT_TOKEN);
  return activeToken(token, store.clock.now());
}

const NO_DEFAULT_TOKEN = 'jobs created with kubectl need a default token, and this installation has none';
const noTokenOf = ({ name, account, token }: NamespaceBinding): string =>
  `the namespace ${name} is bound to account ${account}, ` +
  (token === undefined ? 'whose root user has no API token' : `which has no API token ${token}`);

/** Tools of a job that names none. */
function defaultTools(kind: Kind): readonly ToolName[] {
  if (isEndpoint(kind)) return [kind];
  return kind === 'file' ? FILE_ROWS.flatMap((row) => ('args' in row && row.file.byDefault ? [row.name] : [])) : [];
}

/** Checks that only a job created by hand can fail: the API validates a comparison before it creates the job. */
function checkRuns({ spec: { kind } }: ProbeJob, tools: readonly AssignedTool[], ofTwo: boolean): void {
  const keys = tools.map(runKey);
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  if (twice !== undefined) throw invalid(`spec.tools: ${twice} twice; each version of a tool runs once`);
  const again = tools.find(({ name }, at) => tools.findIndex((other) => other.name === name) !== at);
  if (kind === 'compare') {
    if (ofTwo && (again !== undefined || tools.length === 0))
      throw invalid('spec.tools: a comparison of two sources needs one version of each tool');
    if (!ofTwo && again === undefined)
      throw invalid('spec.tools: a comparison needs at least two versions of one tool');
    return;
  }
  if (ofTwo) throw invalid('spec.other: only the kind compare has two sources');
  if (again)
    throw invalid(`spec.tools: two versions of ${again.name}; only the kind compare runs several versions of one tool`);
}

/** As in the API: what is on by default is off where another option takes its place. */
function optionsByHand({ name, options = {} }: ToolRequest): Record<string, string> {
  const off = (TOOL_TABLE[name]?.options ?? []).filter(
    ({ offWith }) => offWith !== undefined && Object.hasOwn(options, offWith),
  );
  return { ...Object.fromEntries(off.map((spec) => [spec.name, 'false'])), ...options };
}

/**
 * `latest`, and `6` of jobs made by hand, become exact versions, as in the API, whose jobs name exact ones. A version
 * that is being tried is taken where no other is meant: the job then waits for its image.
 */
function findTool(
  { name, version: wanted }: ToolRequest,
  available: readonly AvailableTool[],
  byHand: boolean,
): AvailableTool {
  const candidates = available.filter(({ tool }) => tool === name);
  const named = candidates.find(({ version }) => version === wanted);
  if (named) return named;
  const versionsOf = (among: readonly AvailableTool[]) => among.map(({ version }) => version).sort(byNewest);
  const meantOf = (among: readonly AvailableTool[]): AvailableTool | undefined => {
    const meant = versionFor(wanted, versionsOf(among), among.find(({ latest }) => latest)?.version);
    return among.find(({ version }) => version === meant);
  };
  const proven = candidates.filter(({ isTried }) => !isTried);
  const found = byHand || wanted === 'latest' ? (meantOf(proven) ?? meantOf(candidates)) : undefined;
  if (found) return found;
  const has = versionsOf(proven);
  const nearest = nearestVersion(wanted, has);
  throw new Refusal(
    'ToolUnavailable',
    400,
    `${name}: version "${wanted}" is not available; available: ${has.join(', ') || 'none'}` +
      (nearest === undefined ? '' : `; nearest: ${nearest}`),
  );
}

/**
 * Resolves the requested versions. A version that the cluster lacks is refused and never replaced by another.
 * `pinned`: versions from the job's policy, for a job that names no tools. `ofTwo`: the job has two sources.
 */
export function resolveTools(
  job: ProbeJob,
  available: readonly AvailableTool[],
  { pinned = {}, ofTwo = false }: { pinned?: Policy['uses']; ofTwo?: boolean } = {},
): AssignedTool[] {
  const pins: Partial<Record<ToolName, string>> = pinned;
  const wanted: ToolRequest[] =
    job.spec.tools ?? defaultTools(job.spec.kind).map((name) => ({ name, version: pins[name] ?? 'latest' }));
  const tools = wanted.map((request): AssignedTool => {
    const found = findTool(request, available, isHandMade(job));
    return {
      name: request.name,
      version: found.version,
      timeoutMs: Math.min(request.timeoutMs ?? TOOL_TABLE[request.name]?.timeoutMs ?? TOOL_TIMEOUT_MS, timeoutOf(job)),
      options: isHandMade(job) ? optionsByHand(request) : (request.options ?? {}),
      command: found.command,
      ...(found.build === undefined ? {} : { build: found.build }),
      ...(found.uses ? { uses: found.uses } : {}),
    };
  });
  checkRuns(job, tools, ofTwo);
  return tools;
}

/** A suspended job comes here only if there are too many. */
function checkRoom(state: IntakeState, { metadata, spec }: ProbeJob): void {
  const full = (reason: 'RateLimited' | 'QueueFull', text: string) => new Refusal(reason, 429, text, false);
  if (!state.takeByHand(metadata.namespace ?? ''))
    throw full(
      'RateLimited',
      'more jobs were created with kubectl in a minute than jobs.byHandPerMinute allows; create it again later',
    );
  if (spec.suspend) throw full('QueueFull', 'as many jobs are suspended as may be: half of jobs.maxQueued');
}

export async function takeIn(state: IntakeState, job: ProbeJob): Promise<{ job: Job; token: TokenRecord }> {
  const { store, intake, pools } = state.deps;
  const handMade = isHandMade(job);
  // The API names a job by its request id, a UUID, and the record accepts nothing else.
  if (!handMade && !isUuid(job.metadata.name)) throw invalid('spec.token: only the API creates jobs with a token');
  if (handMade && job.spec.items !== undefined) throw invalid('spec.items: only the API creates chunks');
  if (handMade && !isAdmitted(job.status)) checkRoom(state, job);
  const token = await tokenFor(state, job);

  let display = job.spec.source.display ?? 'unknown';
  let scheme = 'unknown';
  let sources: Sources;
  let policy: JobPolicy | undefined;
  try {
    sources = await sourcesOf(state.deps, job);
    display = displayOf(sources);
    scheme = groupOf(sources[0]);
    const [asSealed] = sources;
    sources = await resolveCredentials(intake.named, sources, token.rootUserId);
    checkPictures(job.spec.tools, asSealed, intake.named);
    policy = await policyOf(store, state.documents, job, token.rootUserId);
  } catch (error) {
    // Its end must be recorded too, so a refused job also gets a row.
    if (handMade && error instanceof Refusal) await openByHand(state, job, { display, scheme }, token, true);
    throw error;
  }
  if (handMade) await openByHand(state, job, { display, scheme, policy }, token);

  const document = policy && (await state.documents.of(policy));
  const [source, second] = sources;
  const isChunk = job.spec.items !== undefined;
  const other = isChunk ? undefined : second;
  const tools = resolveTools(job, pools.availableTools(), { pinned: document?.uses, ofTwo: other !== undefined });
  const { labels } = job.metadata;
  const pool = pools.forJob({ account: token.rootUserId, labels, assignment: { kind: job.spec.kind, tools } });
  const id = idOf(job);
  return {
    token,
    job: {
      key: state.served.keyOf(job),
      token: token.id,
      pool: pool?.name ?? '',
      background: job.spec.background,
      id,
      namespace: job.metadata.namespace ?? '',
      uid: job.metadata.uid ?? '',
      account: token.rootUserId,
      kind: job.spec.kind,
      labels,
      submittedAt: submittedAtOf(job),
      queueTimeoutMs: Math.min(job.spec.queueTimeoutMs ?? MAX_QUEUE_MS, token.limits.queueTimeoutMs),
      timeoutMs: timeoutOf(job),
      ttlSeconds: job.spec.ttlSecondsAfterFinished,
      tenant: tenantOf(pool?.scope ?? 'account', {
        id,
        token: token.id,
        account: token.rootUserId,
        credentials: holdsCredentials(source) || (other !== undefined && holdsCredentials(other)),
      }),
      assignment: {
        kind: job.spec.kind,
        source,
        ...(other ? { other } : {}),
        tools,
        timeoutMs: timeoutOf(job),
        maxBytes: token.limits.fileBytes,
        allow: token.allow,
        report: reportAsked(job.spec.report, document),
        ...(job.spec.timeline?.enabled && job.spec.kind === 'file' ? { timeline: true } : {}),
      },
      chunk: isChunk ? { sources, cancelled: new Map() } : undefined,
      policy,
      status: job.status,
      resourceVersion: job.metadata.resourceVersion ?? '',
      attempt: job.status?.attempts ?? 0,
      ...noState(),
    },
  };
}

/** A policy is evaluated on the report, whether or not the caller gets to see it, and may need pictures of any file. */
function reportAsked(asked: ProbeJob['spec']['report'], policy: Policy | undefined): Job['assignment']['report'] {
  const frames = asked?.frames ?? (policy && asksForPictures(policy) ? 'always' : undefined);
  return {
    enabled: policy !== undefined || (asked?.enabled ?? false),
    diff: asked?.diff ?? true,
    prefer: asked?.prefer ?? null,
    ...(frames ? { frames } : {}),
  };
}

/** As sealed: a credential is named, and not resolved yet. */
export type SealedSource = Source & { credential?: string };

/** One source, or the two of a comparison. */
export type Sources = readonly [SealedSource, ...SealedSource[]];

const notValid = (): Refusal => invalid('the sealed source is not valid');

function readAddress(text: string, s3Hosts: readonly string[]): Source {
  try {
    return parseSource(text, { s3Hosts });
  } catch (error) {
    throw invalid((error as Error).message);
  }
}

function withHeaders(source: Source, headers: unknown): Source {
  if (headers === undefined) return source;
  if (!isHeaders(headers) || unfitFor(source, headers) !== undefined) throw notValid();
  return { ...source, headers: headers as SourceHeader[] };
}

/** An address alone is its text; with anything else it is JSON. */
export function readSealed(text: string, s3Hosts: readonly string[]): SealedSource {
  if (!text.startsWith('{')) return readAddress(text, s3Hosts);
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw notValid();
  }
  const { address, headers, credential, listing, tag, upload, name } = value;
  if (isUploadPlace(upload) && typeof name === 'string') return uploadSource(name, upload);
  if (typeof address !== 'string') throw notValid();
  const source = {
    ...withHeaders(readAddress(address, s3Hosts), headers),
    // By the API alone, which has checked it.
    ...(isObject(listing) ? { listing: listing as unknown as Listing } : {}),
    ...(isObject(tag) ? { tag: tag as unknown as TagAsked } : {}),
  };
  return typeof credential === 'string' ? { ...source, credential } : source;
}

export type CredentialSettings = IntakeSettings['named'];

/** The same for one that does not exist: which ones there are is not for every account to know. */
const notAllowed = (): Refusal =>
  new Refusal('SourceForbidden', 403, 'credential: is not available to this account for this source');

async function secretOf({ folder, identities }: CredentialSettings, credential: NamedCredential): Promise<SecretOf> {
  const { name, kind, identity } = credential;
  if (identity) return identities.secretOf(credential);
  const keys = await Promise.all(
    SECRET_KEYS[kind].map(async (key) => [key, (await readFile(join(folder, name, key), 'utf8')).trim()] as const),
  );
  return Object.fromEntries(keys);
}

async function resolved(settings: CredentialSettings, source: SealedSource, account: number): Promise<Source> {
  const { credential: name, ...plain } = source;
  if (name === undefined) return plain;
  if (leavesBucket(plain)) throw invalid(`credential: ${LEAVES_BUCKET}`);
  const found = settings.credentials.find((one) => one.name === name);
  if (found === undefined || !mayRead(found, account, plain)) throw notAllowed();
  let secret: SecretOf;
  try {
    secret = await secretOf(settings, found);
  } catch (error) {
    if (error instanceof IdentityError)
      throw new Refusal('InternalError', 500, `credential: no access for "${name}": ${error.message}`);
    secret = {};
  }
  const read = withCredential(plain, found, secret);
  if (read === undefined)
    throw new Refusal('InternalError', 500, `credential: the Secret of "${name}" is not complete`);
  return read.tag && !found.tags ? { ...read, tag: { ...read.tag, isRefused: true } } : read;
}

/** Whoever may read the result sees them: what credentials guard is only shown if their owner wants it. */
export function checkPictures(
  tools: ProbeJob['spec']['tools'],
  { credential, ...source }: SealedSource,
  named: Pick<CredentialSettings, 'credentials'>,
): void {
  const asked = tools?.find(({ name }) => name === qc.name)?.options;
  if (!keepsPictures(asked)) return;
  if (credential !== undefined) {
    if (named.credentials.find(({ name }) => name === credential)?.pictures === true) return;
    throw new Refusal('SourceForbidden', 403, 'qc.pictures: the operator allows none with this credential');
  }
  // A file is sent by its owner.
  if (source.upload === undefined && holdsCredentials(source) && !mayBePrivate(asked))
    throw invalid(
      'qc.pictures: the source has credentials (user info, keys, headers, cookies or a query), and whoever reads the ' +
        'result would see its pictures; if they may, send qc.private_pictures, too',
    );
}

export async function resolveCredentials(
  settings: CredentialSettings,
  [first, ...others]: Sources,
  account: number,
): Promise<Sources> {
  return [
    await resolved(settings, first, account),
    ...(await Promise.all(others.map((other) => resolved(settings, other, account)))),
  ];
}
