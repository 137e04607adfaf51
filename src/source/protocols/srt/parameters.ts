import type { Source } from '../../source.ts';

export interface SrtParameters {
  streamId?: string;
  passphrase?: string;
  latencyMs: number;
  keyLength?: 16 | 24 | 32;
}

const USUAL_LATENCY_MS = 120;

/**
 * Parses the query of an SRT address. A latency from 10,000 on is in microseconds, as in FFmpeg, a lower one in
 * milliseconds. In the other unit both would be implausible: over ten seconds, or under ten milliseconds.
 */
export function srtParameters({ url }: Pick<Source, 'url'>): SrtParameters {
  const query = new URLSearchParams(url.split('?').slice(1).join('?'));
  const streamId = query.get('streamid') ?? query.get('srt_streamid');
  const passphrase = query.get('passphrase');
  const latency = Number(query.get('latency') ?? query.get('rcvlatency') ?? USUAL_LATENCY_MS);
  const keyLength = Number(query.get('pbkeylen'));
  return {
    ...(streamId === null ? {} : { streamId }),
    ...(passphrase === null || passphrase === '' ? {} : { passphrase }),
    latencyMs: Math.min(
      10_000,
      Math.max(
        20,
        Number.isFinite(latency) ? Math.round(latency >= 10_000 ? latency / 1000 : latency) : USUAL_LATENCY_MS,
      ),
    ),
    ...(keyLength === 16 || keyLength === 24 || keyLength === 32 ? { keyLength } : {}),
  };
}
