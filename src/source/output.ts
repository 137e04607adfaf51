import { fromPath } from './playlist/mapping.ts';
import { hideQuery } from '../base/hide_query.ts';
import { escapePattern, escapeXml, redactor, redactUrl } from './address/redact.ts';
import type { Source } from './source.ts';

export interface ProxyPlace {
  port: number;
  rtspPort: number;
  /* common prefix of the job's secrets */ id: string;
  /** the web address */ main: string;
  name: string;
}

/**
 * Replaces the proxy's addresses in tool output by the caller's, in displayable form. Each output format has its own
 * escapes (`http\://` in ini, `http:\/\/` in JSON, `&amp;` in XML), which the replacement uses too.
 */
export function outputRedactor(
  source: Source,
  { port, rtspPort, id, main, name }: ProxyPlace,
): (text: string) => string {
  const strike = redactor(source);
  const shown = hideQuery(source.url);
  const folder = shown.split('?')[0]!.replace(/\/[^/]*$/, '');
  const loose = (text: string): string =>
    [...text].map((c) => (/[a-z0-9]/i.test(c) ? c : `\\\\?${escapePattern(c)}`)).join('');
  const proxies = [`http://127.0.0.1:${port}/${id}`, `rtsp://127.0.0.1:${rtspPort}/${id}`].map(loose);
  const prefix = `(?:${proxies.join('|')})[0-9a-f]{16}`;
  const slash = '\\\\?/';
  // The source's own address is matched by its name, because it may stand between commas; any other up to where an
  // address must end.
  const ending = source.class === 'stream' ? '(?:\\\\?\\.[a-z]+)?' : '';
  const own = new RegExp(`${prefix}${slash}[A-Za-z0-9_-]+${slash}${loose(name)}${ending}(?![\\w%/?\\-]|\\.\\w)`, 'g');
  const any = new RegExp(`${prefix}(?:${slash}[A-Za-z0-9_-]+((?:${slash}[^\\s"'<>|]*)?))?`, 'g');
  // Some tools print a reference as it is written in the rewritten playlist.
  const written = new RegExp(`(?<![\\w/.-])(?:\\.\\.${slash})*x${slash}https?${slash}[^\\s"'<>|]+`, 'g');
  const leftover = new RegExp(`${id}(?:[0-9a-f]{16})?`, 'g');
  const listener = new RegExp(`${loose(`127.0.0.1:${port}`)}|${loose(`127.0.0.1:${rtspPort}`)}`, 'g');
  const host = /^[a-z0-9]+:\/\/([^/?#]*)/.exec(shown)?.[1] ?? '';

  const original = (rest: string): string => {
    const path = rest.replace(/^\//, '');
    if (path === '') return folder + rest;
    const url = fromPath(path, { main, name });
    return url === undefined || url === main ? shown : redactUrl(url);
  };

  return (text) => {
    const back = text
      .replace(own, (found) => escapedAs(found, shown))
      .replace(any, (found: string, rest = '') => {
        const plain = rest.replaceAll('\\', '').replaceAll('&amp;', '&');
        let end = plain.length;
        while (end > 0 && ':.,;)'.includes(plain[end - 1]!)) end--;
        return escapedAs(found, original(plain.slice(0, end))) + plain.slice(end);
      })
      .replace(written, (found: string) =>
        escapedAs(
          found,
          original(
            found
              .replaceAll('\\', '')
              .replaceAll('&amp;', '&')
              .replace(/^(?:\.\.\/)+/, ''),
          ),
        ),
      );
    return strike(back.replace(leftover, 'REDACTED').replace(listener, host));
  };
}

/** Escapes a text like the text that it replaces. */
function escapedAs(found: string, text: string): string {
  let result = text;
  if (found.includes('\\/')) result = result.replaceAll('/', '\\/');
  if (found.includes('\\:')) result = result.replace(/[:=#]/g, '\\$&');
  return found.includes('&amp;') ? escapeXml(result) : result;
}
