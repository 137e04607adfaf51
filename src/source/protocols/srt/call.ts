import { randomInt } from 'node:crypto';
import type { Socket } from 'node:dgram';
import { SourceError, unreachable } from '../../error.ts';
import { connectionTimeout, noConnection } from '../../failures.ts';
import { keysOf, makeKeys, openKeys, type KeyOfSalt, type Keys } from './keys.ts';
import {
  CONTROL,
  controlPacket,
  encodeHandshake,
  EXTENSION,
  HANDSHAKE_TYPE,
  readHandshake,
  readPacket,
  reversedWords,
  type Handshake,
} from './packet.ts';
import type { Source } from '../../source.ts';

/** The parameters agreed on by the handshake. */
export interface Call {
  peer: number;
  own: number;
  seq: number;
  keys: Keys | undefined;
  /** undefined without a passphrase */ keyOf: KeyOfSalt | undefined;
}

const AGAIN_MS = 250;
const SRT_VERSION = 0x00010501;
/**
 * Capabilities: timestamp-based delivery for sending and receiving, encryption, too-late packet drop, periodic loss
 * reports, retransmission flag.
 */
const FLAGS = 0x3f;

/** The SRT handshake, version 5: two requests and two responses, the second pair with the parameters of both sides. */
export async function callSrt(
  socket: Socket,
  parameters: SrtParameters,
  clock: () => number,
  deadlineMs: number,
): Promise<Call> {
  const own = randomInt(1, 0x3fffffff);
  const seq = randomInt(0, 0x7ffffff);
  const base = { seq, mtu: 1500, window: 8192, socket: own };
  const deadline = performance.now() + deadlineMs;
  const ask = (shake: Handshake): Promise<Handshake> =>
    exchangeHandshake(
      socket,
      () => controlPacket(CONTROL.handshake, { time: clock(), peer: 0, body: encodeHandshake(shake) }),
      shake.type,
      deadline,
    );

  const greeting = await ask({
    ...base,
    version: 4,
    encryption: 0,
    extensionField: 2,
    type: HANDSHAKE_TYPE.induction,
    cookie: 0,
    extensions: [],
  });
  if (greeting.version < 5 || greeting.extensionField !== 0x4a17)
    throw unreachable('protocol', 'the host does not support SRT 1.3 or later');

  const length = parameters.keyLength ?? ([16, 24, 32] as const)[greeting.encryption - 2] ?? 16;
  const keyOf = parameters.passphrase === undefined ? undefined : keysOf(parameters.passphrase);
  const made = keyOf && (await makeKeys(keyOf, length));
  const wants = Buffer.alloc(12);
  wants.writeUInt32BE(SRT_VERSION, 0);
  wants.writeUInt32BE(FLAGS, 4);
  wants.writeUInt16BE(parameters.latencyMs, 8);
  const extensions: Handshake['extensions'] = [{ type: EXTENSION.request, body: wants }];
  if (made) extensions.push({ type: EXTENSION.keyRequest, body: made.message });
  if (parameters.streamId !== undefined && parameters.streamId !== '')
    extensions.push({ type: EXTENSION.streamId, body: reversedWords(parameters.streamId) });
  const answer = await ask({
    ...base,
    version: 5,
    encryption: made ? length / 8 : 0,
    extensionField: 1 | (made ? 2 : 0) | (extensions.some(({ type }) => type === EXTENSION.streamId) ? 4 : 0),
    type: HANDSHAKE_TYPE.conclusion,
    cookie: greeting.cookie,
    extensions,
  });
  const reply = answer.extensions.find(({ type }) => type === EXTENSION.keyResponse)?.body;
  const keys = reply === undefined || keyOf === undefined ? undefined : await openKeys(keyOf, reply);
  if (made && keys === undefined) throw badSecret();
  return { peer: answer.socket, own, seq: answer.seq, keys: made?.keys, keyOf };
}

function exchangeHandshake(socket: Socket, packet: () => Buffer, wanted: number, deadline: number): Promise<Handshake> {
  return new Promise((resolve, reject) => {
    const finish = (error: unknown, found?: Handshake): void => {
      clearInterval(again);
      clearTimeout(late);
      socket.off('message', onMessage).off('error', onError);
      if (found) resolve(found);
      else reject(error as Error);
    };
    const onMessage = (bytes: Buffer): void => {
      const read = readPacket(bytes);
      if (read?.kind !== 'control' || read.type !== CONTROL.handshake) return;
      const shake = readHandshake(read.body);
      if (shake === undefined) return;
      if (shake.type >= 1000 && shake.type < 10_000) finish(rejected(shake.type - 1000));
      else if (shake.type === wanted) finish(undefined, shake);
    };
    const onError = (cause: Error): void => finish(cause instanceof SourceError ? cause : noConnection(cause));
    const send = (): void => socket.send(packet(), () => {});
    const again = setInterval(send, AGAIN_MS);
    const late = setTimeout(() => finish(connectionTimeout()), Math.max(0, deadline - performance.now()));
    socket.on('message', onMessage).on('error', onError);
    send();
  });
}

const badSecret = (): SourceError => unreachable('status', 'the host does not accept the passphrase', { status: 401 });

function rejected(code: number): SourceError {
  if (code === 10 || code === 11) return badSecret();
  const status = code >= 1400 && code < 1600 ? code - 1000 : 403;
  return unreachable('status', `the host refused the stream (${code})`, { status });
}

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
