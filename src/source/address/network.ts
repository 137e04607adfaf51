/** Non-HTTP addresses of files and streams, with a host, a port and a path. */
import type { Source, SourceClass } from '../source.ts';
import { endOfAuthority } from './s3.ts';
import { hostAndPort, invalid, splitUserInfo, webUrl } from './text.ts';

export interface NetworkAddress {
  port: number | undefined;
  path: string;
  query: URLSearchParams;
  source: Source;
}

/** `classOf`: the source class for a path. */
export function networkAddress(
  scheme: string,
  text: string,
  classOf: (path: string) => SourceClass = () => 'stream',
): NetworkAddress {
  const { credentials, rest } = splitUserInfo(text);
  const end = endOfAuthority(rest);
  const { host, port } = hostAndPort(rest.slice(0, end));
  // Only the path is parsed by the rules of http. Name and port are parsed above, because http would drop its default
  // port.
  const tail = webUrl('http', `h${rest.slice(end)}`);
  if (/%0[ad]|%00/i.test(tail.pathname)) throw invalid('url must not hold control characters');
  const authority = port === undefined ? host : `${host}:${port}`;
  return {
    port,
    path: tail.pathname,
    query: tail.searchParams,
    source: {
      scheme,
      url: `${scheme}://${authority}${tail.pathname}${tail.search}`,
      ...(credentials === undefined ? {} : { credentials }),
      class: classOf(tail.pathname),
    },
  };
}
