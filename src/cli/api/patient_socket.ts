/**
 * A connection whose writes may fail while an answer is still to be read: a server that refuses a file in the middle
 * answers and closes, and Node would drop that answer with the first write that fails. What ends reading ends it, too.
 */
import { Socket, type TcpNetConnectOpts } from 'node:net';

type Done = (error?: Error | null) => void;

class PatientSocket extends Socket {
  override _write(chunk: unknown, encoding: BufferEncoding, done: Done): void {
    super._write(chunk, encoding, patient(done));
  }

  override _writev(chunks: { chunk: unknown; encoding: BufferEncoding }[], done: Done): void {
    super._writev!(chunks as Parameters<NonNullable<Socket['_writev']>>[0], patient(done));
  }
}

const patient =
  (done: Done): Done =>
  (error) => {
    if (!error) done();
  };

export const connectPatiently = (options: object): Socket => new PatientSocket().connect(options as TcpNetConnectOpts);
