/** Failures that are reported in several places, with their text and class. */
import { bytes } from '../base/scaled.ts';
import { cut, isSourceError, SourceError, unreachable } from './error.ts';

/** Also the API's response to such an address before any job runs. */
export const REFUSED_ADDRESS = 'the address is not allowed: it is private, local or reserved';

export const refusedAddress = (options: { detail?: string } = {}): SourceError =>
  new SourceError('refused', REFUSED_ADDRESS, options);

export const unreadableAddress = (): SourceError => new SourceError('source-invalid', 'the address cannot be read');

export const unreadableScheme = (scheme: string): SourceError =>
  new SourceError('source-scheme', `${scheme}:// sources cannot be read`);

/** Of Node and OpenSSL, by code. */
const CONNECT_CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'it refused the connection',
  ECONNRESET: 'it reset the connection',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to its network',
  ETIMEDOUT: 'the connection timed out',
};

export function noConnection(cause: unknown): SourceError {
  const { code, message, errors = [] } = cause as NodeJS.ErrnoException & { errors?: NodeJS.ErrnoException[] };
  // Of several addresses, the first that says why.
  const known = [code, ...errors.map((one) => one.code)].find((one) => one !== undefined && one in CONNECT_CAUSES);
  const why = known === undefined ? '' : `: ${CONNECT_CAUSES[known]}`;
  return unreachable('connect', `the host does not accept connections${why}`, { detail: code ?? message, cause });
}

export const connectionTimeout = (cause?: unknown): SourceError =>
  unreachable('connect', 'the host did not accept a connection in time', { cause });

const CERTIFICATE_CAUSES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another host name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'it is signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'it is signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'it is signed by an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'it is signed by an unknown authority, or the host does not send the whole chain',
  CERT_REVOKED: 'it was revoked',
};
const CERTIFICATE_CODE = /CERT|ALTNAME|ISSUER|SELF_SIGNED|UNABLE_TO_VERIFY|CRL|HOSTNAME_MISMATCH/;

const TLS_CAUSES: readonly [RegExp, string][] = [
  [
    /WRONG_VERSION_NUMBER|PACKET_LENGTH|HTTP_REQUEST|UNEXPECTED_MESSAGE|UNKNOWN_PROTOCOL/,
    'it does not speak TLS on this port',
  ],
  [/PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/, 'it supports no version of TLS that is safe'],
  [/UNRECOGNIZED_NAME/, 'it does not know the host name'],
  [/HANDSHAKE_FAILURE|CIPHER/, 'it refused the handshake'],
  [/CERTIFICATE_REQUIRED|BAD_CERTIFICATE/, 'it asks for a certificate'],
  [/^(?:ECONNRESET|EPIPE|)$/, 'it closed the connection'],
];

/** `untrusted`: the handshake ended with a certificate that is not valid. */
export function noTls(host: string, cause: unknown, untrusted: boolean): SourceError {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  const isCertificate = untrusted || (CERTIFICATE_CODE.test(code) && !code.startsWith('ERR_SSL_'));
  // Node has EPROTO for what OpenSSL names in the message.
  const said = code === 'EPROTO' ? message.toUpperCase().replaceAll(' ', '_') : code;
  const why = isCertificate ? CERTIFICATE_CAUSES[code] : TLS_CAUSES.find(([form]) => form.test(said))?.[1];
  const what = isCertificate
    ? 'the certificate of the host cannot be trusted'
    : 'cannot establish a TLS connection to the host';
  return unreachable(isCertificate ? 'certificate' : 'tls', why === undefined ? what : `${what}: ${why}`, {
    detail: `${host}: ${code}`,
    cause,
  });
}

export const answerTimeout = (): SourceError => unreachable('stalled', 'the host did not answer in time');

export const noAnswer = (options: { detail?: string; cause?: unknown } = {}): SourceError =>
  unreachable('closed', 'the host closed the connection without an answer', options);

/** The host does not speak `protocol`. */
export const wrongProtocol = (protocol: string, options: { detail?: string; cause?: unknown }): SourceError =>
  unreachable('protocol', `the host does not answer with ${protocol}`, options);

export const endlessInterim = (): SourceError => unreachable('protocol', 'the host sends endless interim responses');

/** In a response of chunks. */
export const tooMuchFraming = (detail: string): SourceError =>
  unreachable('protocol', 'the host sends more framing than data', { detail });

export const unreadAnswers = (): SourceError => unreachable('protocol', 'the host does not read its responses');

export const refusedStatus = (status: number): SourceError =>
  unreachable('status', `the host answered ${status}`, { status });

export const tooManyRedirects = (most: number): SourceError =>
  unreachable('redirects', `the host redirects more than ${most} times`);

export const offline = (): SourceError =>
  unreachable('offline', 'the stream is offline: the host sends nothing', { status: 404 });

export const lostUpload = (cause: unknown): SourceError =>
  unreachable('upload-lost', 'the uploaded file was lost with the server that held it; send it again', {
    detail: (cause as Error).message,
    cause,
  });

export const stoppedSending = (): SourceError => cut('stalled', 'the host stopped sending');

export const brokenConnection = (): SourceError =>
  cut('closed', 'the host closed the connection before the end of the file');

/** The same of a file of this size: where it was read to, and from where. */
export function brokenAt(error: unknown, at: number, size: number | undefined, from = 0): unknown {
  if (!isSourceError(error) || error.code !== 'cut') return error;
  const { reason, detail } = error;
  if (reason !== 'stalled' && reason !== 'closed') return error;
  const what = reason === 'stalled' ? 'stopped sending' : 'closed the connection';
  const whole = size === undefined ? '' : ` of ${bytes(size)}`;
  const place = `${from === 0 ? 'after' : 'at'} ${bytes(at)}${whole}`;
  return cut(reason, `the host ${what} ${place}`, { detail, cause: error });
}

/** The job has ended. */
export const sourceClosed = (): SourceError => cut('ended', 'the source is closed');

/** Converts any error to a failure to read a file. */
export const readFailure = (error: unknown): SourceError =>
  isSourceError(error) ? error : cut('protocol', 'the file could not be read', { cause: error });
