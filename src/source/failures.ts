/** Failures that are reported in several places, with their text and class. */
import { isSourceError, SourceError } from './error.ts';

const unreachable = (message: string, options: ConstructorParameters<typeof SourceError>[2]): SourceError =>
  new SourceError('origin-unreachable', message, options);

/** Also the API's response to such an address before any job runs. */
export const REFUSED_ADDRESS = 'the address is not allowed: it is private, local or reserved';

const LOST_UPLOAD = 'the uploaded file was lost with the server that held it; send it again';

export const refusedAddress = (options: { detail?: string } = {}): SourceError =>
  new SourceError('refused', REFUSED_ADDRESS, options);

export const unreadableAddress = (): SourceError => new SourceError('source-invalid', 'the address cannot be read');

export const unreadableScheme = (scheme: string): SourceError =>
  new SourceError('source-scheme', `${scheme}:// sources cannot be read`);

export const noConnection = (cause: unknown): SourceError =>
  unreachable('the host does not accept connections', {
    reason: 'connect',
    detail: (cause as NodeJS.ErrnoException).code ?? (cause as Error).message,
    cause,
  });

export const connectionTimeout = (cause?: unknown): SourceError =>
  unreachable('the host did not accept a connection in time', { reason: 'timeout', cause });

export const answerTimeout = (): SourceError => unreachable('the host did not answer in time', { reason: 'timeout' });

/** This side has no more. */
export const tooManyConnections = (): SourceError =>
  unreachable('the source has too many hosts at a time', { reason: 'limit' });

export const noAnswer = (options: { detail?: string; cause?: unknown } = {}): SourceError =>
  unreachable('the host closed the connection without an answer', { reason: 'connect', ...options });

/** The host does not speak `protocol`. */
export const wrongProtocol = (protocol: string, options: { detail?: string; cause?: unknown }): SourceError =>
  unreachable(`the host does not answer with ${protocol}`, { reason: 'protocol', ...options });

export const endlessInterim = (): SourceError =>
  unreachable('the host sends endless interim responses', { reason: 'protocol' });

/** In a response of chunks. */
export const tooMuchFraming = (detail: string): SourceError =>
  unreachable('the host sends more framing than data', { reason: 'protocol', detail });

export const unreadAnswers = (): SourceError =>
  unreachable('the host does not read its responses', { reason: 'protocol' });

export const refusedStatus = (status: number): SourceError =>
  unreachable(`the host answered ${status}`, { reason: 'status', status });

export const tooManyRedirects = (most: number): SourceError =>
  unreachable(`the host redirects more than ${most} times`, { reason: 'redirects' });

export const offline = (): SourceError =>
  unreachable('the stream is offline: the host sends nothing', { reason: 'timeout', status: 404 });

export const lostUpload = (cause: unknown): SourceError =>
  unreachable(LOST_UPLOAD, { reason: 'upload-lost', detail: (cause as Error).message, cause });

export const stoppedSending = (): SourceError =>
  new SourceError('cut', 'the host stopped sending', { reason: 'timeout' });

export const brokenConnection = (): SourceError =>
  new SourceError('cut', 'the connection broke before the end of the file', { reason: 'protocol' });

/** The job has ended. */
export const sourceClosed = (): SourceError => new SourceError('cut', 'the source is closed', { reason: 'closed' });

/** Converts any error to a failure to read a file. */
export const readFailure = (error: unknown): SourceError =>
  isSourceError(error)
    ? error
    : new SourceError('cut', 'the file could not be read', { reason: 'protocol', cause: error });
