/** A request of the log, held by a worker of its own. */
import { isFailure, signedOut } from '../api/client.ts';
import { broken, offline, type Failure } from '../api/failure.ts';
import type { Asked, Opened, Question, Reply, Told } from './protocol.ts';

/** The bundle puts the address of the worker here. */
declare const WORKER_ADDRESS: string;

export interface OpenAnswer extends Opened {
  /** The worker has ended by itself: it answers nothing more. */
  broken: Promise<Failure>;
  ask<K extends keyof Asked>(what: K, of: Asked[K]): Promise<Told[K]>;
}

/** A worker that has started and holds nothing. */
let spare: Worker | null = null;

/** The next answer need not wait for its worker to start. */
export function startAhead(): void {
  if (spare !== null) return;
  const worker = new Worker(WORKER_ADDRESS, { type: 'module' });
  spare = worker;
  // One that could not start is not kept: the next attempt says what was wrong.
  worker.addEventListener('error', () => {
    if (spare === worker) spare = null;
  });
}

/** Throws a Failure. With the signal the worker and what it holds are gone. */
export async function openAnswer(id: string, signal: AbortSignal): Promise<OpenAnswer> {
  signal.throwIfAborted();
  startAhead();
  const worker = spare!;
  spare = null;
  const waiting = new Map<number, { done(told: never): void; failed(error: unknown): void }>();
  let asked = 0;
  let ended: { error: unknown } | null = null;
  const end = (error: unknown): void => {
    ended ??= { error };
    worker.terminate();
    for (const { failed } of waiting.values()) failed(error);
    waiting.clear();
  };
  signal.addEventListener('abort', () => end(signal.reason), { once: true });
  const { promise, resolve } = Promise.withResolvers<Failure>();
  // Without a message the worker could not be read.
  worker.addEventListener('error', ({ message }: Partial<ErrorEvent>) => {
    const failure = message ? broken(message) : offline();
    end(failure);
    resolve(failure);
  });
  worker.addEventListener('message', ({ data }: MessageEvent<Reply>) => {
    const one = waiting.get(data.number);
    waiting.delete(data.number);
    if ('failure' in data) one?.failed(data.failure);
    else one?.done(data.told as never);
  });
  const ask: OpenAnswer['ask'] = (what, of) =>
    new Promise((done, failed) => {
      if (ended !== null) return failed(ended.error);
      asked += 1;
      waiting.set(asked, { done, failed });
      worker.postMessage({ number: asked, ask: what, of } as Question);
    });
  try {
    return { ...(await ask('open', { id })), ask, broken: promise };
  } catch (error) {
    end(error);
    if (isFailure(error) && error.kind === 'signed-out') signedOut();
    throw error;
  }
}
