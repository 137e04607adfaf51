/**
 * Why a tool has no result: the stable `code` beside its error. One table for results, the API's description, the docs
 * (docs/sources.md), metrics and the log. Codes are added, and never change their meaning.
 */

/** The answer of the host, with its status: one code for each. */
const STATUS = 'http-NNN';

export const CAUSES = {
  dns: 'The host name does not exist, has no address, or its name server fails.',
  connect: 'The host accepts no connection on this port, or none in time.',
  tls: 'The certificate of the host cannot be trusted, or it does not speak TLS on this port.',
  [STATUS]:
    'The host answered with this status. Refusals of FTP, RTMP, RTSP and SRT have the HTTP status that means the same.',
  redirects: 'The host redirects in a circle, or to an address that cannot be read.',
  head: 'The head of the answer of the host is longer than 16 KB.',
  protocol: 'The host does not speak the protocol of the address, or breaks its rules.',
  closed: 'The host closed the connection without an answer, or before the end of the file.',
  stalled: 'The host did not answer in time, or stopped sending.',
  slow: 'The host sends less than the installation requires.',
  offline: 'The host sends nothing of the stream.',
  changed: 'The file changed while it was read.',
  limit: 'Reading the source takes more than a limit of the installation allows.',
  complex: 'The playlist needs more work than the installation allows.',
  'source-forbidden': 'The installation does not read this address, or an address that it leads to.',
  'source-too-large': 'The source has more bytes than the limit of the token.',
  'upload-lost': 'The server that held the sent file is gone.',
  'origin-unreachable': 'The source cannot be reached, and nothing more is known.',
  'source-cut': 'The source could be read only in part, and nothing more is known.',
  'not-media': 'The source is something else, such as a web page; the error says what.',
  'must-fix': 'The stream breaks a rule that it must keep.',
  timeout: 'The tool did not finish in time, and spent most of it itself.',
  'timeout-origin': 'The tool did not finish in time, and spent most of it waiting for the host.',
  unsupported: 'The tool cannot read this kind of source.',
  failed: 'The tool failed; the error has its own message and exit code.',
  crashed: 'The tool was ended by a signal.',
  'out-of-memory': 'The tool needed more memory than it may have.',
  'output-too-large': 'The tool printed more than the output limit.',
  'over-quota': 'The source is longer than what the monthly quota leaves for content checks.',
  unavailable: 'The runner could not start the tool.',
} as const satisfies Record<string, string>;

type Named = Exclude<keyof typeof CAUSES, typeof STATUS>;
export type Cause = Named | `http-${number}`;

/** As runners of any version may send it. */
export const CAUSE_PATTERN = '^[a-z][a-z0-9-]{0,31}$';

/** The code without the status, from a fixed set: a label of metrics. */
export function countedCause(code: string): keyof typeof CAUSES | 'other' {
  if (/^http-\d{3}$/.test(code)) return STATUS;
  return Object.hasOwn(CAUSES, code) ? (code as Named) : 'other';
}

/** The code as a member of what callers see beside an error: the failure itself where nothing more exact is known. */
export function codeMember(result: { code?: string; failure?: string } | undefined): { code?: string } {
  const code = result?.code ?? result?.failure;
  return code === undefined ? {} : { code };
}
