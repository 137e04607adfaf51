import { within } from '../../../base/retry.ts';
import { OriginAnswer } from '../../http/answer.ts';
import { isSourceError } from '../../error.ts';
import { offline } from '../../failures.ts';
import type { SocketContext } from '../protocol.ts';
import { ownTransport, type Transport } from '../../http/transport.ts';

/** Receives a stream as it arrives, in the container that tools read. */
export interface Sink {
  /** False if data arrives faster than it is read: `resume` is called later. */
  data(chunk: Buffer): boolean;
  /** The stream has ended normally. */
  end(): void;
  fail(error: unknown): void;
}
export interface Session {
  resume(): void;
  close(): void;
}
type OpenStream = (context: SocketContext, sink: Sink) => Promise<Session>;

/** Responds as soon as the first data arrives: before that the stream counts as offline. */
export function liveTransport(context: SocketContext, type: string, open: OpenStream): Transport {
  const { url } = context.source;
  const ask = async (): Promise<{ response: OriginAnswer; url: string }> => {
    let session: Session | undefined;
    let gone = false;
    const answer = new OriginAnswer(
      200,
      { 'content-type': type },
      {
        resume: () => session?.resume(),
        gone() {
          gone = true;
          session?.close();
        },
      },
    );
    const first = Promise.withResolvers<void>();
    let begun = false;
    const sink: Sink = {
      data(chunk) {
        begun = true;
        first.resolve();
        return answer.give(chunk);
      },
      end() {
        if (!begun) first.reject(offline());
        else answer.finish();
      },
      fail(error) {
        if (!begun) first.reject(error);
        else answer.destroy(isSourceError(error) && error.code === 'cut' ? error : undefined);
      },
    };
    first.promise.catch(() => {});
    try {
      const begins = Promise.race([
        first.promise,
        open(context, sink).then((made) => {
          session = made;
          if (gone) made.close();
          return first.promise;
        }),
      ]);
      await within(context.offlineMs, begins, offline);
      return { response: answer, url };
    } catch (error) {
      answer.destroy();
      throw error;
    }
  };
  return ownTransport(url, ask);
}
