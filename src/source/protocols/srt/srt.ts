/** Streams over SRT, from servers in listener mode. */
import { invalid, networkAddress } from '../../address/text.ts';
import type { Protocol } from '../protocol.ts';
import { liveTransport } from '../stream/live.ts';

export const srt: Protocol = {
  schemes: { srt: { countsAs: 'srt' } },
  parse(text, scheme) {
    const { port, path, query, source } = networkAddress(scheme, text);
    if (port === undefined) throw invalid('an srt url must name a port');
    const mode = query.get('mode');
    if (mode !== null && mode !== 'caller') throw invalid('an srt url can only call (mode=caller)');
    return path === '/' ? { ...source, url: source.url.replace(/\/(?=\?|$)/, '') } : source;
  },
  open: async (context) => liveTransport(context, 'video/mp2t', (await import('./session.ts')).openSrt),
  recordedAs: 'ts',
};
