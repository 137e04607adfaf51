/** Addresses that name a host, a port and a path, and are no web address: of files and of streams. */
import type { Source, SourceClass } from '../source.ts';
import { endOfAuthority } from './s3.ts';
import { hostAndPort, invalid, splitUserInfo, webUrl } from './text.ts';

export interface NetworkAddress {
  port: number | undefined;
  path: string;
  query: URLSearchParams;
  source: Source;
}

/** `classOf`: what its path promises. */
export function networkAddress(
  scheme: string,
  text: string,
  classOf: (path: string) => SourceClass = () => 'stream',
): NetworkAddress {
  const { credentials, rest } = splitUserInfo(text);
  const end = endOfAuthority(rest);
  const { host, port } = hostAndPort(rest.slice(0, end));
  // http only lends its rules for a path; the name and the port are read above, so that no default port of http's is
  // lost.
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
