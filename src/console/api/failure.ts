/** Why a call came to nothing, as a page shows it. */
import { isObject } from '../../base/is_object.ts';

export interface Failure {
  kind: 'signed-out' | 'refused' | 'busy' | 'offline' | 'broken';
  /** The API's own text. */
  text: string;
  /** Why a source cannot be read. */
  code?: string | undefined;
  /** What was wrong with which field of what was sent. */
  field: string | null;
  status: number;
  requestId: string | null;
  /** Seconds after which another try makes sense. */
  retryAfter: number | null;
}

const KINDS: Record<number, Failure['kind']> = {
  401: 'signed-out',
  429: 'busy',
  502: 'busy',
  503: 'busy',
  504: 'busy',
};

export const offline = (): Failure => ({
  kind: 'offline',
  text: 'This server cannot be reached.',
  field: null,
  status: 0,
  requestId: null,
  retryAfter: null,
});

/** What came is no answer of the API, or the page has a defect. */
export const broken = (text: string): Failure => ({ ...offline(), kind: 'broken', text });

/** What stands between this page and the API may answer with anything. */
export const unreadable = (): Failure => broken('What answered is not this server: its answer is no JSON.');

interface ErrorBody {
  error?: unknown;
  code?: unknown;
  context?: { field?: unknown };
}

async function bodyOf(response: Response): Promise<ErrorBody> {
  try {
    const body: unknown = await response.json();
    return isObject(body) ? body : {};
  } catch {
    return {};
  }
}

/** Probe endpoints name the field in the text alone: `ffprobe.version: …`. */
const FIELD = /^([\w.[\]-]+): /;

export async function failureOf(response: Response): Promise<Failure> {
  const { error, code, context } = await bodyOf(response);
  const text = typeof error === 'string' ? error : '';
  const seconds = Number(response.headers.get('Retry-After') ?? Number.NaN);
  return {
    kind: KINDS[response.status] ?? 'refused',
    text: text === '' ? `The server answered with status ${response.status}.` : text,
    code: typeof code === 'string' ? code : undefined,
    field: typeof context?.field === 'string' ? context.field : (FIELD.exec(text)?.[1] ?? null),
    status: response.status,
    requestId: response.headers.get('X-Request-Id'),
    retryAfter: Number.isFinite(seconds) && seconds > 0 ? seconds : null,
  };
}
