/**
 * Long work as tasks, the extension io.modelcontextprotocol/tasks of revision 2026-07-28. A task is a request on
 * record, and its id the request id: every replica can answer for it.
 */
import { isUuid, timeOf } from '../../../platform/store/uuid.ts';
import { ERRORS } from '../errors.ts';
import { Refused, type Calls } from './calls.ts';
import { DEFAULT_BYTES, textOf } from './answer_text.ts';
import { membersOf, valueOf } from './tools/result_summary.ts';

export const TASKS = 'io.modelcontextprotocol/tasks';

const POLL_MS = 2_000;
const CANCELLED = 499;

export class UnknownTask extends Error {}
/** Nothing is known of the task now: the client asks again. */
export class TaskUnreadable extends Error {}

export interface Task {
  taskId: string;
  status: 'working' | 'completed' | 'cancelled';
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  ttlMs: null;
  pollIntervalMs: number;
  result?: object;
}

const createdAt = (id: string): string => (timeOf(id) ?? new Date(0)).toISOString();

const taskOf = (id: string, status: Task['status'], more: Partial<Task> = {}): Task => ({
  taskId: id,
  status,
  createdAt: createdAt(id),
  lastUpdatedAt: new Date().toISOString(),
  ttlMs: null,
  pollIntervalMs: POLL_MS,
  ...more,
});

export const newTask = (id: string): Task => taskOf(id, 'working', { statusMessage: 'The request runs.' });

export const toolResult = (text: string, isError = false) => ({
  content: [{ type: 'text' as const, text }],
  ...(isError ? { isError: true } : {}),
});

/** Whether the error is the recorded end of the request, and not of the call that reads it. */
async function isItsEnd(calls: Calls, id: string, { status, message }: Refused): Promise<boolean> {
  if (status === 429 && message === ERRORS['rate-limited'].text) return false;
  if (status !== 503 && status !== 429) return status >= 400;
  try {
    await calls.ask('GET', `/frontend/api/v1/media/log/${id}`);
    return true;
  } catch {
    return false;
  }
}

export async function getTask(calls: Calls, id: string): Promise<Task> {
  if (!isUuid(id)) throw new UnknownTask();
  try {
    const answer = await calls.ask('GET', `/v1/probe/${id}`);
    if (answer.status === 202) {
      const { state, waiting } = membersOf(valueOf(answer));
      const { text } = membersOf(waiting);
      return taskOf(id, 'working', {
        statusMessage: typeof text === 'string' ? text : `The request is ${String(state)}.`,
      });
    }
    const { text } = await calls.say(answer, { of: 'summary' }, DEFAULT_BYTES);
    return taskOf(id, 'completed', { result: toolResult(text) });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 404) throw new UnknownTask();
    if ([401, 403].includes(error.status) || !(await isItsEnd(calls, id, error)))
      throw new TaskUnreadable(error.message);
    if (error.status === CANCELLED) return taskOf(id, 'cancelled');
    return taskOf(id, 'completed', { result: toolResult(textOf(refusal(error)), true) });
  }
}

/** A request that has ended stays as it is. */
export async function cancelTask(calls: Calls, id: string): Promise<void> {
  if (!isUuid(id)) throw new UnknownTask();
  try {
    await calls.ask('POST', `/v1/probe/${id}/cancel`, {});
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 404) throw new UnknownTask();
    if (error.status !== 409) throw new TaskUnreadable(error.message);
  }
}

const WHAT_NOW: Readonly<Record<number, string>> = {
  401: 'The token is not valid or has expired.',
  403: 'The token may not do this, or its quota is used up.',
  404: 'Check the id or name.',
  413: 'Ask for less.',
  429: 'Wait, then repeat the call.',
  499: 'The request was cancelled.',
  503: 'Wait, then repeat the call.',
};

/** Texts of errors may quote a source. */
export const refusal = ({
  status,
  message,
  retryAfterS,
  code,
}: Pick<Refused, 'status' | 'message' | 'retryAfterS'> & { code?: string | undefined }) => ({
  lead:
    code === undefined || status >= 500
      ? [
          `The call failed with status ${status}.`,
          ...(WHAT_NOW[status] === undefined ? [] : [WHAT_NOW[status]]),
          ...(retryAfterS === undefined ? [] : [`Retry after ${retryAfterS} s.`]),
        ]
      : [`The source cannot be read (${code}): see error.`],
  data: { error: message, ...(code === undefined ? {} : { code }) },
  isError: true,
});
