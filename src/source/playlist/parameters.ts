/**
 * Query parameters of a playlist's own address, for the HLS validator: `#EXT-X-DEFINE:QUERYPARAM="name"`. The validator
 * gets those that the playlist declares. For a possible credential it gets a placeholder, which is replaced by the
 * value only in addresses on the playlist's own host. So the validator never holds what signs an address.
 */
import { randomBytes } from 'node:crypto';
import { resolveReference, sameAuthority, targetOf, type Target } from '../address/target.ts';

/**
 * Headers for a tool that reads playlists unmodified: the final address of a text, which is the base of its references,
 * and parameters of the source's query. The tool requests parameters by name, separated by commas.
 */
export const PLACE_HEADER = 'x-source-place';
export const PARAMETERS_HEADER = 'x-source-parameters';

const MOST_NAMES = 16;
/** A shorter value could be guessed, and would match unrelated text. */
const SHORTEST = 6;

export const declaredParameters = (text: string): string[] =>
  [...text.matchAll(/^#EXT-X-DEFINE:[^\r\n]{0,2000}?QUERYPARAM="([^"\r\n]{1,200})"/gm)]
    .slice(0, MOST_NAMES)
    .map(([, name]) => name!);

/** Credentials are recognised by name: the parts of signed addresses, and common names of tokens. */
const CREDENTIALS = [
  /^(?:x-(?:amz|goog|oss|cos|obs|ms|bce)-|q-)/i,
  /token|(?<!de)sign|sig$|secret|credential|passw|auth|hmac|jwt|policy|session|key|accessid|hdn(?:ts|ea|tl)/i,
  /^(?:pass|pwd|md5|hash|verify|code|st|e|exp|expires)$/i,
];
export const isCredential = (name: string): boolean => CREDENTIALS.some((pattern) => pattern.test(name));

export function makeParameters() {
  const standIns: { text: string; value: string; home: Target }[] = [];

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
    /** Names and values for the tool, from the query of `url`. */
    told(url: string, names: readonly string[]): [name: string, value: string][] {
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
    /** The address with the real values. */
    meant(url: string): string {
      const used = standIns.filter(({ text, home }) => url.includes(text) && sameAuthority(home, targetOf(url)));
      if (used.length === 0) return url;
      const start = pathAt(url);
      const path = used.reduce((text, standIn) => text.replaceAll(standIn.text, () => standIn.value), url.slice(start));
      // Resolved as the tool itself would have done. An address that would leave the host is kept unchanged.
      const meant = resolveReference(url, `${url.slice(0, start)}${path}`);
      return meant !== undefined && sameAuthority(targetOf(meant), targetOf(url)) ? meant : url;
    },
    /** The address as the tool may see it. */
    shown: (url: string): string => `${url.slice(0, pathAt(url))}${hide(url.slice(pathAt(url)))}`,
  };
}

function pathAt(url: string): number {
  const at = url.indexOf('/', url.indexOf('://') + 3);
  return at === -1 ? url.length : at;
}
