/** A probe as requested: built once from checked fields, for everything that opens, runs and answers it. */
import { createHash } from 'node:crypto';
import type { OpenInput, TokenRecord } from '../../../platform/store/records.ts';
import { type Asker, type Context, tokenOf } from '../http/request_context.ts';
import { ApiError, ERRORS, invalid } from '../errors.ts';
import { isSourceError } from '../../../source/error.ts';
import { parseSource } from '../../../source/address/parse.ts';
import type { Source } from '../../../source/source.ts';
import {
  checkCredential,
  checkHeaders,
  type HeaderFields,
  isRefusedLiteral,
  readHeaders,
  readSource,
  shownHeaders,
  type SourceRules,
} from './request_source.ts';
import type { Kind, ProbeJobSpec, ToolRequest } from '../../../platform/kube/probe_job.ts';
import type { ResponseForm } from '../../result/answer.ts';
import type { Deps, Settings, Uploads } from '../deps.ts';
import type { AskedPolicy } from '../policies/asked_policy.ts';
import type { Upload } from '../http/upload_form.ts';
import { uploadSource } from '../../../source/protocols/upload/upload.ts';
import type { SourceHeader } from '../../../source/headers.ts';
import type { WebhookFormat } from '../../webhooks/cloud_event.ts';
import { type CacheAsked, canonical } from './cache_key.ts';

// `Idempotency-Key`: the same key and body return the first request's result, the same key with another body is 400.

const KEY = /^[\x21-\x7e]{1,255}$/;

/** Null: the call has none. */
export function idempotencyKey(ctx: Pick<Context, 'method' | 'get'>): string | null {
  const key = ctx.get('Idempotency-Key');
  if (key === '' || ctx.method !== 'POST') return null;
  if (!KEY.test(key)) throw new ApiError('idempotency-key');
  return key;
}

export function idempotencyOf(
  ctx: Pick<Context, 'method' | 'get'>,
  { kind, sent }: Pick<ProbeRequest, 'kind' | 'sent'>,
): OpenInput['idempotency'] {
  const key = idempotencyKey(ctx);
  if (key === null) return null;
  return {
    key,
    bodySha256: createHash('sha256')
      .update(`${kind}\n${canonical(sent)}`)
      .digest(),
  };
}

// Parses the webhook address of a request: it follows the same rules as a source, and is checked before the request is
// accepted.

const FIELD = 'webhook_url';

function parsed(text: string): Source {
  try {
    return parseSource(text);
  } catch (error) {
    // These messages never repeat a part of the address.
    if (isSourceError(error))
      throw invalid(
        FIELD,
        error.code === 'source-scheme' ? 'must begin with http:// or https://' : error.message.replace(/^url /, ''),
      );
    throw error;
  }
}

export function readWebhookUrl(
  method: string,
  { webhook_url: text, webhook_format: format = 'plain' }: Pick<CommonFields, 'webhook_url' | 'webhook_format'>,
  { allowWebhooks: allow, denyCidrs: deny }: Pick<Settings, 'allowWebhooks' | 'denyCidrs'>,
): string | null {
  if (text === null) {
    if (format !== 'plain') throw invalid('webhook_format', 'has an effect with webhook_url alone');
    return null;
  }
  if (method !== 'POST') throw invalid(FIELD, 'is accepted in a POST only');
  const address = parsed(text);
  if (address.scheme !== 'http' && address.scheme !== 'https')
    throw invalid(FIELD, 'must begin with http:// or https://');
  if (address.s3) throw invalid(FIELD, 'must not be an S3 address');
  if (isRefusedLiteral(address, { allow, deny }))
    throw new ApiError('address-refused', { text: `${FIELD}: ${ERRORS['address-refused'].text}` });
  return text;
}

/** Fields of all probe endpoints. */
interface CommonFields extends HeaderFields {
  /** The name of a credential of the operator. */
  credential?: string | null;
  url?: string | undefined;
  /** In place of `url`: the two sources of a comparison. */
  urls?: readonly string[] | undefined;
  timeout: number;
  queue_timeout: number;
  webhook_url: string | null;
  webhook_format?: WebhookFormat;
  policy?: string | object | null;
}

export interface ProbeRequest {
  kind: Kind;
  /** What is sealed into the job of each source, and not stored: its address, and what is sent along. */
  secrets: readonly [string, ...string[]];
  /** One, or the two of a comparison. */
  sources: readonly [Source, ...Source[]];
  tools: ToolRequest[];
  report: NonNullable<ProbeJobSpec['report']>;
  limits: { queueTimeoutMs: number; timeoutMs: number };
  timeline?: boolean;
  /** An item of a batch: nobody waits for it. */
  background?: boolean;
  /** Set if a result of an equal request may answer it. */
  cache?: CacheAsked | undefined;
  response: ResponseForm;
  policy?: AskedPolicy | null | undefined;
  /** The file that came with it, until its end. */
  upload?: Asker['state']['upload'];
  /** The requested options, without addresses. */
  options: object;
  /** Where the result is sent. */
  webhookUrl: string | null;
  /** What makes a repeated request the same. */
  sent: object;
}

/** What a token may read. */
export const sourceRules = (settings: Deps['settings'], { allow }: Pick<TokenRecord, 'allow'>): SourceRules => ({
  allow: [...settings.allowSources, ...allow],
  deny: settings.denyCidrs,
  s3Hosts: settings.s3Hosts,
});

export function probeRequest(
  { settings, uploads }: Pick<Deps, 'settings' | 'uploads'>,
  by: Asker,
  fields: CommonFields,
  own: Pick<ProbeRequest, 'kind' | 'tools' | 'report' | 'response' | 'policy' | 'timeline'>,
): ProbeRequest {
  const token = tokenOf(by);
  const rules = sourceRules(settings, token);
  const { url, urls, headers, cookies, credential, webhook_url: _url, webhook_format, policy: _, ...rest } = fields;
  const options = { ...rest, ...(credential ? { credential } : {}) };
  const { policy = null } = own;
  const { upload } = by.state;
  const along = readHeaders(by, { headers, cookies });
  return {
    ...own,
    response: {
      ...own.response,
      ...(policy ? { policy } : {}),
      ...(webhook_format === 'cloudevents' ? { webhookFormat: webhook_format } : {}),
    },
    ...(upload && uploads
      ? uploadedSource(upload, uploads, { url, headers: along, credential })
      : readSources({ url, urls }, rules, { headers: along, credential: credential ?? undefined })),
    ...(upload ? { upload } : {}),
    limits: {
      queueTimeoutMs: Math.min(fields.queue_timeout, token.limits.queueTimeoutMs),
      timeoutMs: fields.timeout,
    },
    options: { ...options, ...shownHeaders({ headers, cookies }), ...shownPolicy(policy) },
    webhookUrl: readWebhookUrl(by.method, fields, settings),
    sent: { ...fields, ...digestOf(upload) },
  };
}

/** Of all sources together. A ProbeJob holds 24,576 characters of sealed text of each. */
export const MOST_SECRET_BYTES = 18_000;

function uploadedSource(
  upload: Upload,
  { host, port }: Uploads,
  { url, headers, credential }: { url: string | undefined; headers: unknown; credential: unknown },
): Pick<ProbeRequest, 'secrets' | 'sources'> {
  if (url !== undefined) throw new ApiError('invalid-field', { text: 'url and file: exactly one of them is required' });
  if (headers !== undefined) throw invalid('headers', 'have no effect with a file');
  if (credential) throw invalid('credential', 'has no effect with a file');
  const { id, key, size, name } = upload;
  const place = { host, port, id, key, size };
  return { secrets: [JSON.stringify({ upload: place, name })], sources: [uploadSource(name, place)] };
}

/** Of a file, for a repeated request: not where it lies. */
const digestOf = (upload: Upload | undefined): object =>
  upload ? { file: { name: upload.name, size: upload.size, sha256: upload.sha256 } } : {};

interface SentAlong {
  headers: SourceHeader[] | undefined;
  credential: string | undefined;
}

/** An address alone is sealed as its text. */
const secretOf = (address: string, { headers, credential }: SentAlong): string =>
  headers === undefined && credential === undefined ? address : JSON.stringify({ address, headers, credential });

export function readSources(
  { url, urls }: Pick<CommonFields, 'url' | 'urls'>,
  rules: SourceRules,
  along: SentAlong,
): Pick<ProbeRequest, 'secrets' | 'sources'> {
  const addresses = urls ?? (url === undefined ? [] : [url]);
  const [first, ...others] = addresses;
  const field = urls ? 'urls' : 'url';
  if (first === undefined) throw invalid(field, 'is required');
  const secrets: ProbeRequest['secrets'] = [secretOf(first, along), ...others.map((one) => secretOf(one, along))];
  if (Buffer.byteLength(secrets.join('')) > MOST_SECRET_BYTES)
    throw invalid(
      field,
      `must have at most ${MOST_SECRET_BYTES} bytes in UTF-8${along.headers ? ', together with its headers' : ''}`,
    );
  const sources: ProbeRequest['sources'] = [
    readSource(first, rules, urls ? 'urls.0' : field),
    ...others.map((text, at) => readSource(text, rules, `urls.${at + 1}`)),
  ];
  if (along.headers) checkHeaders(along.headers, sources);
  if (along.credential !== undefined) checkCredential(sources);
  return { secrets, sources };
}

/** An inline policy is shown by its digest, because the log is kept for months. */
const shownPolicy = (policy: AskedPolicy | null): object =>
  policy ? { policy: policy.name ?? { sha256: policy.digest } } : {};
