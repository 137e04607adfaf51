/**
 * Sends a request and waits for its end. Where somebody watches, it does not hold the connection but asks where the
 * request stands; Ctrl-C cancels it. Otherwise the connection is held, and closing it cancels the request.
 */
import { IDEMPOTENCY_KEY, pause, type Api } from './api/api_client.ts';
import type { Body } from '../api_calls.ts';
import type { SentFile } from './api/multipart_form.ts';
import { newName, type Answered } from './api/exchange_http.ts';
import type { Standing } from '../api_types.ts';
import type { times } from './commands/request_options.ts';
import { EXIT, Failure, Interrupted } from './exits.ts';
import { bytes } from '../base/scaled.ts';
import type { Terminal } from './terminal.ts';

/** Defaults of the API, by which this program knows when an answer is overdue. */
const QUEUE_MS = 60_000;
const TIMEOUT_MS = {
  'POST /v1/probe/file': 65_000,
  'POST /v1/probe/qc': 650_000,
  'POST /v1/probe/mediastreamvalidator': 650_000,
  'POST /v1/probe/c2pa': 65_000,
  'POST /v1/compare': 65_000,
} as const;
type RequestName = keyof typeof TIMEOUT_MS;
/** For the answer itself, after the last of these times. */
const ANSWER_MS = 60_000;

const deadlineOf = (name: RequestName, { timeout, queue_timeout: queue }: Fields): number =>
  (timeout ?? TIMEOUT_MS[name]) + (queue ?? QUEUE_MS) + ANSWER_MS;

/** Fields of a request. Options of the command line may name any: the API says which it does not know. */
export type Fields = Record<string, unknown> & Partial<ReturnType<typeof times>>;

interface Submission {
  name: RequestName;
  body: Fields;
  /** In place of an address in the body. */
  file?: SentFile | undefined;
  /** Whether the answer is the enveloped form, in which it can be read back. */
  enveloped?: boolean;
}

/**
 * Reading back counts against the calls per minute: 8 in the first second, then less than one each second. A warm probe
 * of a near file ends within 30 to 60 ms.
 */
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 1_200;
const GROWTH = 1.4;

export async function submit(
  api: Api,
  { name, body, file, enveloped = true }: Submission,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<Answered> {
  const deadlineMs = deadlineOf(name, body);
  const headers = { [IDEMPOTENCY_KEY]: newName() };
  const call = { body: body as Body<RequestName>, headers, deadlineMs, file };
  if (!terminal.watched || !enveloped) return api.ask(name, call);
  terminal.progress('sending');
  const accepted = await api.ask(name, {
    ...call,
    headers: { ...headers, Prefer: 'respond-async' },
    onSent: file && sending(file, terminal),
  });
  if (accepted.status !== 202) return accepted;
  const began = performance.now();
  const id = (JSON.parse(accepted.body.toString()) as { metadata: { request_id: string } }).metadata.request_id;
  try {
    for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(LONGEST_PAUSE_MS, wait * GROWTH)) {
      await pause(wait, signal);
      const answered = await api.ask('GET /v1/probe/:id', { params: { id }, deadlineMs });
      if (answered.status !== 202) return answered;
      const elapsed = performance.now() - began;
      if (elapsed > deadlineMs)
        throw new Failure(`the request has not ended after ${Math.round(elapsed / 1_000)} s`, EXIT.unknown, {
          hint: `read its result later: probeyard result ${id}`,
        });
      terminal.progress(standingLine(JSON.parse(answered.body.toString()) as Standing, elapsed));
    }
  } catch (error) {
    if (error instanceof Interrupted) await cancel(api.afterInterrupt(), id, terminal);
    throw error;
  }
}

/** As often as somebody can read it. */
const SHOWN_EVERY_MS = 100;

function sending({ size }: SentFile, terminal: Terminal): (sent: number) => void {
  let shownAt = Number.NEGATIVE_INFINITY;
  return (sent) => {
    if (performance.now() - shownAt < SHOWN_EVERY_MS) return;
    shownAt = performance.now();
    terminal.progress(sendingLine(sent, size));
  };
}

const sendingLine = (sent: number, size: number | undefined): string =>
  size === undefined
    ? `sending ${bytes(sent)}`
    : `sending ${bytes(sent)} of ${bytes(size)}, ${Math.floor((100 * sent) / size)} %`;

export function standingLine({ state, waiting, progress }: Standing, elapsedMs: number): string {
  const seconds = `${Math.round(elapsedMs / 1_000)} s`;
  if (typeof progress === 'number') return `${state} ${seconds}: ${progress} % checked`;
  return waiting === null ? `${state} ${seconds}` : `${state} ${seconds}: ${waiting.text}`;
}

async function cancel(api: Api, id: string, terminal: Terminal): Promise<void> {
  terminal.progress('cancelling');
  try {
    await api.ask('POST /v1/probe/:id/cancel', { params: { id } });
    terminal.note(`cancelled the request ${id}`);
  } catch (error) {
    if (error instanceof Failure && error.status === 409) return;
    terminal.note(`the request ${id} may still run: it could not be cancelled (${(error as Error).message})`);
  }
}
