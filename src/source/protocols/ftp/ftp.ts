/** Files on FTP servers. */
import { classOf, networkAddress } from '../../address/text.ts';
import type { Protocol } from '../protocol.ts';

export const ftp: Protocol = {
  schemes: { ftp: { port: 21, countsAs: 'ftp' } },
  parse: (text, scheme) => networkAddress(scheme, text, classOf).source,
  open: async (context) => (await import('./transport.ts')).ftpTransport(context),
};
