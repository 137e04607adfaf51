import { connect } from 'node:net';
import { encodeRtsp, RtspReader, type RtspMessage } from '../../src/source/protocols/rtsp/message.ts';

/**
 * The simplest possible RTSP tool: one request on a new connection, within a deadline. Undefined if the connection is
 * closed without a response.
 */
export function askRtsp(
  address: string,
  method: string,
  options: { headers?: [string, string][]; uri?: string; deadlineMs?: number } = {},
): Promise<RtspMessage | undefined> {
  const { headers = [], uri = address, deadlineMs = 10_000 } = options;
  const { hostname, port } = new URL(address.replace('rtsp:', 'http:'));
  const { promise, resolve, reject } = Promise.withResolvers<RtspMessage | undefined>();
  const socket = connect({ host: hostname, port: Number(port) });
  const late = setTimeout(() => reject(new Error(`no answer within the deadline: ${method} ${uri}`)), deadlineMs);
  const reader = new RtspReader();
  socket.on('error', () => {}).on('close', () => resolve(undefined));
  socket.on('data', (bytes: Buffer) => {
    for (const item of reader.read(bytes)) if (item.kind === 'message') resolve(item);
  });
  socket.write(encodeRtsp(`${method} ${uri} RTSP/1.0`, [['CSeq', '7'], ...headers]));
  return promise.finally(() => {
    clearTimeout(late);
    socket.destroy();
  });
}
