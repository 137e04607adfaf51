/** Streams over RTMP. They are played here: a tool that spoke RTMP would hold the stream key. */
import { networkAddress } from '../../address/text.ts';
import type { Protocol } from '../protocol.ts';
import { liveTransport } from '../stream/live.ts';

export const rtmp: Protocol = {
  schemes: { rtmp: { port: 1935, countsAs: 'rtmp' }, rtmps: { port: 443, countsAs: 'rtmp' } },
  parse: (text, scheme) => networkAddress(scheme, text).source,
  open: async (context) => liveTransport(context, 'video/x-flv', (await import('./session.ts')).openRtmp),
  recordedAs: 'flv',
  keyInPath: true,
};
