/** Headers that a caller sends along to the source's host. They count as a credential. */

/** The name is in lower case. */
export type SourceHeader = [name: string, value: string];

export const MOST_HEADERS = 16;
/** Names and values together. */
export const MOST_HEADER_BYTES = 8192;

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,128}$/;
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Names that the proxy sends itself or that belong to one connection, and those that metadata services of clouds
 * demand: an address inside the network is refused anyway, but this is the header that its owner relies on.
 */
const REFUSED = new RegExp(
  '^(?:host|range|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|http2-settings|max-forwards|' +
    'accept-encoding|accept-ranges|via|forwarded|x-forwarded-.*|x-real-ip|content-.*|proxy-.*|sec-.*|if-.*|' +
    'metadata|metadata-flavor|x-google-metadata-request|x-aws-ec2-metadata-.*)$',
);

export interface HeaderProblem {
  name: string;
  text: string;
}

const problem = (name: string, text: string): HeaderProblem => ({ name, text });

function problemOf([name, value]: SourceHeader): HeaderProblem | undefined {
  if (!NAME.test(name)) return problem(name, 'is not a valid header name');
  if (REFUSED.test(name)) return problem(name, 'cannot be set');
  if (!VALUE.test(value)) return problem(name, 'must be visible ASCII without blanks at its ends');
  return undefined;
}

/** What is wrong with the headers, if anything; an empty name stands for all of them. */
export function headersProblem(headers: readonly SourceHeader[]): HeaderProblem | undefined {
  if (headers.length > MOST_HEADERS) return problem('', `must be at most ${MOST_HEADERS}`);
  const seen = new Set<string>();
  let bytes = 0;
  for (const header of headers) {
    const [name, value] = header;
    const wrong = problemOf(header);
    if (wrong) return wrong;
    if (seen.has(name)) return problem(name, 'is given more than once');
    seen.add(name);
    bytes += name.length + value.length;
  }
  return bytes > MOST_HEADER_BYTES ? problem('', `must have at most ${MOST_HEADER_BYTES} bytes together`) : undefined;
}

const isPair = (value: unknown): value is SourceHeader =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string');

export const isHeaders = (value: unknown): value is SourceHeader[] =>
  Array.isArray(value) && value.length > 0 && value.every(isPair) && headersProblem(value) === undefined;

/** Names whose values are no secrets, and may stand in an address or in the output of a tool by chance. */
const OPEN: ReadonlySet<string> = new Set(
  'accept accept-language cache-control dnt origin pragma referer user-agent'.split(' '),
);

/** What must not be shown: whole values, the tokens in them, and the values of cookies. */
export const secretsInHeaders = (headers: readonly SourceHeader[]): string[] =>
  headers
    .filter(([name]) => !OPEN.has(name))
    .flatMap(([name, value]) => {
      if (name === 'cookie')
        return [value, ...value.split(';').map((pair) => pair.slice(pair.indexOf('=') + 1).trim())];
      const token = value.slice(value.indexOf(' ') + 1);
      return [value, token, ...(/^basic /i.test(value) ? passwordIn(token) : [])];
    });

function passwordIn(token: string): string[] {
  const text = Buffer.from(token, 'base64').toString('utf8');
  return text.includes(':') ? [text.slice(text.indexOf(':') + 1)] : [];
}

/** Why headers cannot be sent to this source; undefined if they can. */
export function unfitFor(
  { scheme, credentials, s3 }: { scheme: string; credentials?: object; s3?: { secret?: string } },
  headers: readonly SourceHeader[],
): string | undefined {
  if (scheme !== 'http' && scheme !== 'https') return 'are only sent to http:// and https:// addresses';
  const signs = (name: string): boolean =>
    name === 'authorization' || (s3?.secret !== undefined && name.startsWith('x-amz-'));
  return (credentials !== undefined || s3?.secret !== undefined) && headers.some(([name]) => signs(name))
    ? 'must not authenticate, because the address contains credentials'
    : undefined;
}
