/** Why a command ended without what it was asked for, and the exit code that says so. */

export const EXIT = {
  done: 0,
  /** The file, stream or policy failed. */
  failed: 1,
  usage: 2,
  /** Nothing is known of the file: the service was unreachable, refused the caller, or could not judge. */
  unknown: 3,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The members of an answer that say why there is no result; the code is for programs. */
export interface Reason {
  error?: string | undefined;
  code?: string | undefined;
}

/** For people: the code stands behind the message, unless it is the one that says no more. */
export const reasonText = ({ error = 'no reason', code = 'failed' }: Reason): string =>
  code === 'failed' ? error : `${error} (${code})`;

export class Failure extends Error {
  readonly exitCode: ExitCode;
  /** What to do about it, on a line of its own. */
  readonly hint: string | undefined;
  /** The status of the API's answer. */
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  /** Of the API's answer: why a source cannot be read. */
  readonly code: string | undefined;

  constructor(
    message: string,
    exitCode: ExitCode,
    more: Partial<Pick<Failure, 'hint' | 'status' | 'requestId' | 'code'>> & { cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'Failure';
    this.exitCode = exitCode;
    this.hint = more.hint;
    this.status = more.status;
    this.requestId = more.requestId;
    this.code = more.code;
  }

  get reason(): Reason {
    return { error: this.message, code: this.code };
  }
}

/** The caller pressed Ctrl-C, or ended the process. */
export class Interrupted extends Error {}

export const usage = (message: string, hint?: string, cause?: unknown): Failure =>
  new Failure(message, EXIT.usage, { hint, cause });

/** API tokens are 64 letters and digits; a JWT is three parts of base64url. */
const TOKEN = /(?<![A-Za-z0-9])[A-Za-z0-9]{64}(?![A-Za-z0-9])|eyJ[\w-]+\.[\w-]+\.[\w-]*|whsec_[A-Za-z0-9+/=_-]+/g;

/** For everything that is not data: a token that was given in the wrong place is not repeated. */
export const masked = (text: string): string => text.replaceAll(TOKEN, 'REDACTED');
