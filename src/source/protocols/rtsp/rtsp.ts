/** Streams over RTSP: spoken by the tools that can, through relay.ts. */
import { networkAddress } from '../../address/network.ts';
import type { Protocol } from '../protocol.ts';

export const rtsp: Protocol = {
  schemes: { rtsp: { port: 554, countsAs: 'rtsp' }, rtsps: { port: 322, countsAs: 'rtsp' } },
  parse: (text, scheme) => networkAddress(scheme, text).source,
  relayedAs: 'RTSP',
};
