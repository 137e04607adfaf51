import { fromPath } from './mapping.ts';
import { escapePattern, escapeXml, hideQuery, redactor, redactUrl } from './redact.ts';
import type { Source } from './source.ts';

export type ProxyPlace = { port: number; secret: string; /** the web address */ main: string; name: string };

/**
 * What tools print names the proxy's addresses: the caller's go back in, as they may be shown. Each output format escapes
 * in its own way (`http\://` in ini, `http:\/\/` in JSON, `&amp;` in XML), and the answer keeps to it.
 */
export function outputRedactor(source: Source, { port, secret, main, name }: ProxyPlace): (text: string) => string {
  const strike = redactor(source);
  const shown = hideQuery(source.url);
  const folder = shown.split('?')[0]!.replace(/\/[^/]*$/, '');
  const loose = (text: string): string => [...text].map((c) => (/[a-z0-9]/i.test(c) ? c : `\\\\?${escapePattern(c)}`)).join('');
  const address = new RegExp(`${loose(`http://127.0.0.1:${port}/${secret}`)}(?:\\\\?/([A-Za-z0-9_-]+)((?:\\\\?/[^\\s"'<>,;|]*)?))?`, 'g');
  const leftover = new RegExp(`${secret}`, 'g');
  const listener = new RegExp(loose(`127.0.0.1:${port}`), 'g');
  const host = /^[a-z0-9]+:\/\/([^/?#]*)/.exec(shown)?.[1] ?? '';

  const original = (rest: string): string => {
    const path = rest.replace(/^\//, '');
    if (path === '') return folder + (rest === '' ? '' : '/');
    const url = fromPath(path, { main, name });
    if (url === undefined || url === main) return shown;
    return redactUrl(url);
  };

  return (text) => {
    if (!text.includes(secret) && !text.includes(String(port))) return strike(text);
    const back = text.replace(address, (found: string, _tool: string | undefined, rest: string | undefined) => {
      const xml = found.includes('&amp;');
      const slashes = found.includes('\\/');
      const ini = found.includes('\\:');
      const path = (rest ?? '').replaceAll('\\', '').replaceAll('&amp;', '&');
      let result = original(path);
      if (slashes) result = result.replaceAll('/', '\\/');
      if (ini) result = result.replace(/[:=#]/g, '\\$&');
      return xml ? escapeXml(result) : result;
    });
    return strike(back.replace(leftover, 'REDACTED').replace(listener, host));
  };
}
