/**
 * Parses a source, and rejects immediately what can never be fetched. Host names are checked later, when the socket is
 * opened.
 */
import { isIP } from 'node:net';
import Type from 'typebox';
import { isSourceError, OUTCOMES } from '../../../source/error.ts';
import { makeGuard } from '../../../source/address/guard.ts';
import { parseSource } from '../../../source/address/parse.ts';
import { originUrl, placeOf } from '../../../source/protocols/table.ts';
import type { Source } from '../../../source/source.ts';
import { MAX_QUEUE_MS, MAX_TIMEOUT_MS } from '../../../base/limits.ts';
import type { SourceException } from '../../../base/source_settings.ts';
import { ApiError, ERRORS, invalid } from '../errors.ts';
import { CREDENTIAL_NAME, LEAVES_BUCKET, leavesBucket, SECRET_KEYS } from '../../../source/named_credential.ts';
import { WEBHOOK_FORMATS } from '../../webhooks/cloud_event.ts';
import { choice, milliseconds, optionalText } from '../http/request_fields.ts';
import {
  headersProblem,
  MOST_HEADER_BYTES,
  MOST_HEADERS,
  unfitFor,
  type SourceHeader,
} from '../../../source/headers.ts';
import { HIDDEN } from '../../../base/hide_query.ts';
import { sameAuthority, targetOf } from '../../../source/address/target.ts';
import type { Asker } from '../http/request_context.ts';
import { shown } from '../http/input/read_fields.ts';

/** `what`: happens with the address. */
export const webhookFields = (what: string) => ({
  webhook_url: optionalText(8192, what),
  webhook_format: choice(
    WEBHOOK_FORMATS,
    'plain',
    'How it is sent to `webhook_url`. cloudevents: as an event of CloudEvents 1.0 in structured mode, with the plain ' +
      'body as its `data`.',
  ),
});

/** Of an endpoint that probes. */
export const WEBHOOK_FIELDS = webhookFields(
  'POST only: the response is 202 at once, and the envelope is sent to this address.',
);

export interface SourceRules {
  allow: readonly SourceException[];
  deny: readonly string[];
  s3Hosts?: readonly string[];
}

export function isRefusedLiteral(source: Source, rules: SourceRules): boolean {
  const { host, port } = placeOf(originUrl(source));
  return (
    isIP(host) !== 0 && makeGuard({ allow: rules.allow, denyExtra: rules.deny }).check(host, port, host) === 'refused'
  );
}

/** `field`: its name in errors. */
export function readSource(text: string, rules: SourceRules, field = 'url'): Source {
  let source: Source;
  try {
    source = parseSource(text, { s3Hosts: rules.s3Hosts ?? [] });
  } catch (error) {
    // These messages never repeat a part of the address.
    if (isSourceError(error))
      throw new ApiError('invalid-source', {
        text: error.message.startsWith('url') ? error.message.replace(/^url/, field) : `${field}: ${error.message}`,
      });
    throw error;
  }
  if (isRefusedLiteral(source, rules)) {
    throw new ApiError('address-refused', {
      text: `${field}: ${ERRORS['address-refused'].text}`,
      toolCode: OUTCOMES.refused,
    });
  }
  return source;
}

// The field `credential` of a probe: the name of a credential that the operator configured.

const SCHEMES = Object.keys(SECRET_KEYS);

export function checkCredential(sources: readonly Source[]): void {
  for (const source of sources) {
    const { scheme, s3 } = source;
    if (!SCHEMES.includes(scheme))
      throw invalid('credential', `has no effect with ${scheme}:// addresses, but with ${SCHEMES.join(', ')}`);
    if (s3?.secret !== undefined) throw invalid('credential', 'and keys in the address: only one of them is accepted');
    if (leavesBucket(source)) throw invalid('credential', LEAVES_BUCKET);
  }
}

// The fields `headers` and `cookies` of a probe: what is sent along to the host of its source, and to no other.

type Texts = Record<string, string>;

export interface HeaderFields {
  headers?: Texts | null | undefined;
  cookies?: Texts | null | undefined;
}

const texts = (description: string, example: Texts) =>
  Type.Unsafe<Texts | null>({
    type: ['object', 'null'],
    additionalProperties: { type: 'string' },
    default: null,
    description,
    examples: [example],
  });

export const MAX_ADDRESS = 8192;

/**
 * What is sent along with a source. Whether a credential exists, and whether this account may use it, is the
 * controller's to know: then the end is a 403.
 */
export const SOURCE_FIELDS = {
  headers: texts(
    'POST only, for `http` and `https`: headers that are sent to the host of the address, not to another host of a ' +
      `redirect or a playlist. At most ${MOST_HEADERS} with ${MOST_HEADER_BYTES} bytes, the cookies included; not ` +
      '`Host`, `Range`, `Connection`, `Content-*`, `Transfer-Encoding`, `Proxy-*` and others that belong to a ' +
      'connection. They are stored encrypted until the request ends, and the log shows their names only.',
    { Authorization: 'Bearer eyJhbGciOi', Referer: 'https://www.example.com/' },
  ),
  cookies: texts('POST only: the same for cookies, by name.', { 'CloudFront-Key-Pair-Id': 'K2JCJMDEHXQW5F' }),
  credential: optionalText(
    63,
    `For ${SCHEMES.map((scheme) => `\`${scheme}://\``).join(', ')}: the name of a credential that the operator has ` +
      'configured for this account and bucket. Its secret is known to neither the caller nor the tool.',
    CREDENTIAL_NAME,
  ),
};

const TIME_LIMIT =
  'Time limit of the analysis in milliseconds, counted from admission; time in the queue is not included.';

/** How long a probe may take: `timeoutMs` by default. */
export const timeFields = (timeoutMs: number, description = TIME_LIMIT) => ({
  timeout: milliseconds(timeoutMs, MAX_TIMEOUT_MS, description),
  queue_timeout: milliseconds(MAX_QUEUE_MS, MAX_QUEUE_MS, 'Maximum time in the queue, in milliseconds.'),
});

const COOKIE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const COOKIE_VALUE = /^[\x21-\x3a\x3c-\x7e]*$/;

function cookieOf(cookies: Texts): string {
  const wrong = (name: string, text: string) => invalid(`cookies.${shown(name)}`, text);
  return Object.entries(cookies)
    .map(([name, value]) => {
      if (!COOKIE.test(name)) throw wrong(name, 'is not a valid cookie name');
      if (!COOKIE_VALUE.test(value)) throw wrong(name, 'must be visible ASCII without blanks and semicolons');
      return `${name}=${value}`;
    })
    .join('; ');
}

/** Undefined if there are none. */
export function readHeaders(by: Pick<Asker, 'method'>, { headers, cookies }: HeaderFields): SourceHeader[] | undefined {
  for (const [field, value] of Object.entries({ headers, cookies }))
    if (value && by.method === 'GET') throw invalid(field, 'is only accepted by POST, because addresses are logged');
  const list = Object.entries(headers ?? {}).map(([name, value]): SourceHeader => [name.toLowerCase(), value]);
  const count = list.length + Object.keys(cookies ?? {}).length;
  if (count > MOST_HEADERS) throw invalid(headers ? 'headers' : 'cookies', `must be at most ${MOST_HEADERS} together`);
  if (cookies && Object.keys(cookies).length > 0) {
    if (list.some(([name]) => name === 'cookie')) throw invalid('cookies', 'are given twice: as a header, too');
    list.push(['cookie', cookieOf(cookies)]);
  }
  const problem = headersProblem(list);
  if (problem) throw invalid(problem.name === '' ? 'headers' : `headers.${shown(problem.name)}`, problem.text);
  return list.length === 0 ? undefined : list;
}

/** Headers go to one host: two sources get the same ones only if they lie on the same host. */
export function checkHeaders(headers: readonly SourceHeader[], sources: readonly Source[]): void {
  for (const source of sources) {
    const unfit = unfitFor(source, headers);
    if (unfit !== undefined) throw invalid('headers', unfit);
  }
  const [first, ...others] = sources.map(({ url }) => targetOf(url));
  if (others.some((other) => !sameAuthority(first!, other)))
    throw invalid('headers', 'are sent to one host, but urls name two: probe each, and compare their request_ids');
}

/** For the record: names without values. */
export const shownHeaders = ({ headers, cookies }: HeaderFields): object =>
  Object.fromEntries(
    Object.entries({ headers, cookies })
      .filter(([, value]) => value && Object.keys(value).length > 0)
      .map(([field, value]) => [field, Object.fromEntries(Object.keys(value!).map((name) => [name, HIDDEN]))]),
  );
