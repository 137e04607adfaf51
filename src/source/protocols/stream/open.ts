import { SourceError } from '../../error.ts';
import { ftpTransport } from '../ftp/transport.ts';
import type { RelayContext } from '../relay.ts';
import type { Transport } from '../../http/transport.ts';
import { liveTransport } from './live.ts';

/**
 * How a source is read that is no web address. The protocols are loaded where they are used: a warm runner mostly reads
 * files.
 */
export function relayTransport(context: RelayContext): Transport {
  switch (context.source.scheme) {
    case 'ftp':
      return ftpTransport(context);
    case 'rtmp':
    case 'rtmps':
      return liveTransport(context, 'video/x-flv', async (...given) =>
        (await import('../rtmp/session.ts')).openRtmp(...given),
      );
    case 'srt':
      return liveTransport(context, 'video/mp2t', async (...given) =>
        (await import('../srt/session.ts')).openSrt(...given),
      );
    default:
      throw new SourceError('source-scheme', `${context.source.scheme}:// sources cannot be read.`);
  }
}
