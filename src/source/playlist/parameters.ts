import { randomBytes } from 'node:crypto';
import { resolveReference, sameAuthority, targetOf, type Target } from '../address/target.ts';

/**
 * Parameters of a playlist's own query, for the HLS validator: `#EXT-X-DEFINE:QUERYPARAM="name"`. The validator gets
 * them for names that the playlist declares. What may be a credential it gets as a stand-in, whose place the value
 * takes where the address leads to the playlist's own host: it never holds what signs an address.
 */

const MOST_NAMES = 16;
/** What is shorter can be guessed, and would be found in places where it does not stand. */
const SHORTEST = 6;

export const declaredParameters = (text: string): string[] =>
  [...text.matchAll(/^#EXT-X-DEFINE:[^\r\n]{0,2000}?QUERYPARAM="([^"\r\n]{1,200})"/gm)]
    .slice(0, MOST_NAMES)
    .map(([, name]) => name!);

/** By name, because a value does not tell: the parts of signed addresses, and what services call their tokens. */
const CREDENTIALS = [
  /^(?:x-(?:amz|goog|oss|cos|obs|ms|bce)-|q-)/i,
  /token|(?<!de)sign|sig$|secret|credential|passw|auth|hmac|jwt|policy|session|key|accessid|hdn(?:ts|ea|tl)/i,
  /^(?:pass|pwd|md5|hash|verify|code|st|e|exp|expires)$/i,
];
export const isCredential = (name: string): boolean => CREDENTIALS.some((pattern) => pattern.test(name));

export interface Parameters {
  /** As the tool gets them, of the query of `url`. */
  told(url: string, names: readonly string[]): [name: string, value: string][];
  /** The address that is meant. */
  meant(url: string): string;
  /** As the tool may see it. */
  shown(url: string): string;
}

interface StandIn {
  text: string;
  value: string;
  home: Target;
}

export function makeParameters(): Parameters {
  const standIns: StandIn[] = [];

  const standInFor = (value: string, home: Target): string => {
    const known = standIns.find((one) => one.value === value && sameAuthority(one.home, home));
    if (known !== undefined) return known.text;
    if (standIns.length >= MOST_NAMES) return '';
    const text = `p${randomBytes(12).toString('hex')}`;
    standIns.push({ text, value, home });
    return text;
  };

  const hide = (path: string): string =>
    standIns.reduce(
      (text, { text: standIn, value }) =>
        [value, encodeURI(value), encodeURIComponent(value)].reduce(
          (left, form) => left.replaceAll(form, standIn),
          text,
        ),
      path,
    );

  return {
    told(url, names) {
      const at = url.indexOf('?');
      const given = new URLSearchParams(at === -1 ? '' : url.slice(at + 1));
      const home = targetOf(url);
      return names.flatMap((name): [string, string][] => {
        const value = given.get(name);
        return value === null
          ? []
          : [[name, isCredential(name) && value.length >= SHORTEST ? standInFor(value, home) : value]];
      });
    },
    meant(url) {
      const used = standIns.filter(({ text, home }) => url.includes(text) && sameAuthority(home, targetOf(url)));
      if (used.length === 0) return url;
      const start = pathAt(url);
      const path = used.reduce((text, standIn) => text.replaceAll(standIn.text, () => standIn.value), url.slice(start));
      // As the tool itself would have resolved it. What would leave the host is left alone.
      const meant = resolveReference(url, `${url.slice(0, start)}${path}`);
      return meant !== undefined && sameAuthority(targetOf(meant), targetOf(url)) ? meant : url;
    },
    shown: (url) => `${url.slice(0, pathAt(url))}${hide(url.slice(pathAt(url)))}`,
  };
}

function pathAt(url: string): number {
  const at = url.indexOf('/', url.indexOf('://') + 3);
  return at === -1 ? url.length : at;
}
