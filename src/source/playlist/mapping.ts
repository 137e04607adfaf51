/**
 * Maps web addresses to paths of the source proxy, and back. `x/https/cdn.example.com:8443/a/b.ts?q` keeps the shape of
 * the address, so a relative reference that stays on its host resolves correctly without a rewrite.
 */
import { cut, type SourceError } from '../error.ts';
import { decoded } from '../address/s3.ts';
import { isWeb, resolveReference } from '../address/target.ts';

export const toPath = (url: string): string => `x/${url.replace('://', '/')}`;

/**
 * The web address for a path under the prefix; undefined if the path contains none. `name`: the last segment of the
 * path of the source, whose own address is `main`.
 */
export function fromPath(path: string, { main, name }: { main: string; name: string }): string | undefined {
  if (path.startsWith('x/')) {
    const match = /^x\/(https?)\/([^/?#]+)(\/[^#]*)?$/.exec(path);
    // A tool may have encoded the colon before the port.
    const authority = loosely(match?.[2] ?? '');
    if (match === null || !/^(?:\[[0-9a-f:.]+\]|[^\s/?#@:\\[\]]+)(?::\d{1,5})?$/i.test(authority)) return undefined;
    return resolveReference(`${match[1]}://${authority}/`, `${match[1]}://${authority}${match[3] ?? '/'}`);
  }
  if (loosely(path) === loosely(name)) return main;
  // A source without a web address has no files beside it; the recording of a stream is a file with a name of its kind.
  if (!isWeb(main)) return /^stream\.[a-z]+$/.test(path) && name === 'stream' ? main : undefined;
  return resolveReference(main, `./${path}`);
}

const loosely = (text: string): string => decoded(text) ?? text;

export function nameOf(url: string): string {
  const path = url.replace(/^[a-z0-9]+:\/\/[^/?#]*/, '').split(/[?#]/)[0]!;
  const name = path.slice(path.lastIndexOf('/') + 1);
  return name === '' || name === 'x' || name === '.' || name === '..' ? 'source' : name;
}

/** Extension of the last path segment; the rest of the URL is ignored. */
export const extensionOf = ({ url }: { url: string }): string | undefined =>
  /\.([A-Za-z0-9]{1,5})$/.exec(nameOf(url))?.[1]?.toLowerCase();

/**
 * Prefixes for paths of the proxy in a text. `near` is relative to the text itself, because not every tool supports
 * absolute addresses in a playlist. `x/https/host` is as long as `https://host`, so even the size that a tool reports
 * stays correct.
 */
export interface Roots {
  near: string;
  full: string;
}

export function rootsOf(path: string, prefix: string): Roots {
  return { near: '../'.repeat(path.split(/[?#]/)[0]!.split('/').length - 1), full: `${prefix}/` };
}

/** The requested and the final address of a text with references. */
export interface Place {
  requested: string;
  final: string;
}

function directory(url: string): string {
  const path = url.split(/[?#]/)[0]!;
  return path.slice(0, path.lastIndexOf('/') + 1);
}
export const moved = ({ requested, final }: Place): boolean => directory(requested) !== directory(final);

/**
 * Whether a reference works without a rewrite, because it stays below its base. Such references are kept, because not
 * every tool supports absolute ones.
 */
export function isNatural(reference: string): boolean {
  return (
    reference !== '' &&
    !/^(?:[a-z][a-z0-9+.-]*:|[/?#\\]|x\/|refused\/)/i.test(reference) &&
    !/(?:^|[/\\])(?:\.|%2e){2}(?:[/\\?#]|$)/i.test(reference) &&
    !reference.includes('\\')
  );
}

const LONGEST_REFERENCE = 8192;
const HARMLESS = /^(?:data|skd|urn|tag):/i;

/** Total length of rewritten addresses: a hostile playlist of short ones would otherwise grow a hundredfold. */
const MOST_TEXT = 16 << 20;
/** Total length read to resolve them: the base is parsed again for each, and one of 8 kB costs 30 µs. */
const MOST_READ = 128 << 20;

/** A rewriter for one text. Throws if the text grows too long. */
export function referenceRewriter(): (reference: string, base: string, root: string) => string {
  let left = MOST_TEXT;
  let unread = MOST_READ;
  return (reference, base, root) => {
    unread -= base.length + reference.length;
    if (unread < 0) throw tooMany();
    const result = rewriteReference(reference, base, root);
    left -= result.length;
    if (left < 0) throw tooMany();
    return result;
  };
}

const tooMany = (): SourceError => cut('limit', 'the playlist holds too many addresses');

/** The reference for the tool. Schemes other than http(s) are mapped to a refusal. */
export function rewriteReference(reference: string, base: string, root: string): string {
  if (reference.length > LONGEST_REFERENCE) return `${root}refused/unreadable`;
  if (HARMLESS.test(reference)) return reference;
  const url = resolveReference(base, reference);
  if (url !== undefined) return `${root}${toPath(url)}`;
  const scheme = /^([a-z][a-z0-9+.-]{0,30}):/i.exec(reference)?.[1]?.toLowerCase() ?? 'unreadable';
  return `${root}refused/${scheme}`;
}
