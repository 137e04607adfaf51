/** Streams over RTSP: read through relay.ts by the tools that support it. */
import { networkAddress } from '../../address/text.ts';
import type { Protocol } from '../protocol.ts';

export const rtsp: Protocol = {
  schemes: { rtsp: { port: 554, countsAs: 'rtsp' }, rtsps: { port: 322, countsAs: 'rtsp' } },
  parse: (text, scheme) => networkAddress(scheme, text).source,
  relayedAs: 'RTSP',
};
