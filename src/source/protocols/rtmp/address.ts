import type { Place } from '../protocol.ts';

export interface RtmpAddress {
  host: string;
  port: number;
  secure: boolean;
  app: string;
  playpath: string;
  tcUrl: string;
}

/**
 * Splits the path into application and stream: of two segments they are these, of three the second is the application
 * instance.
 */
export function rtmpAddress(scheme: string, place: Place): RtmpAddress {
  const path = place.path.replace(/^\//, '');
  const first = path.indexOf('/');
  let app = path;
  let name = '';
  if (first !== -1) {
    const query = path.indexOf('?');
    const limit = query === -1 ? path.length : query;
    const second = path.indexOf('/', first + 1);
    const colon = path.indexOf(':', first + 1);
    const cut = second === -1 || second > limit || (colon !== -1 && colon < second) ? first : second;
    app = path.slice(0, cut);
    name = path.slice(cut + 1);
  }
  const tcUrl = `${scheme}://${place.authority}/${app}`;
  return { host: place.host, port: place.port, secure: scheme === 'rtmps', app, playpath: playpathOf(name), tcUrl };
}

/** Adds the prefix for the file type that servers expect. */
function playpathOf(name: string): string {
  const [bare = ''] = name.split('?');
  if (bare.includes(':')) return name;
  if (/\.(?:mp4|f4v)$/i.test(bare)) return `mp4:${name}`;
  return /\.flv$/i.test(bare) ? name.slice(0, bare.length - 4) + name.slice(bare.length) : name;
}
