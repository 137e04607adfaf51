/** Input and output of a job of the source proxy. */
import type { SourceError } from './error.ts';
import type { Source } from './source.ts';
import type { SourceException } from '../source_exception.ts';

export interface Limits {
  /** Of one file as declared, and of everything that the request reads. */
  maxBytes: number;
}

export interface JobOptions {
  source: Source;
  /** Exceptions for this request's token, beside the installation's. */
  allow?: readonly SourceException[];
  limits: Limits;
  /** Whether a tool wants the origin's certificate to be good. A tool that is not named does. */
  tls?: { verify?: Readonly<Record<string, boolean>> };
  /**
   * Tools that read a stream as it comes, and speak RTSP themselves. The others get the beginning of a stream as a
   * file, and no RTSP.
   */
  live?: readonly string[];
  /** Tools that get playlists as they are, with what the proxy knows of them beside it (playlist/place_headers.ts). */
  readPlaylistsAsTheyAre?: readonly string[];
  /** Whether a tool fetches what a file names, of whatever format: its parts are read with the source's credentials. */
  followsParts?: boolean;
}

/** Why the source could not be read, for the outcome of the request. The message may be shown. */
export interface Failure {
  code: SourceError['code'];
  reason?: SourceError['reason'];
  status?: number;
  message: string;
}

export interface JobStats {
  /** Bytes of bodies received from origins. */
  ioUsage: number;
  requests: number;
  /** Connections that this job was the first to use. */
  connections: number;
  /** What was wrong with the source itself (not with what a playlist points at), first come. */
  failure?: Failure;
  /** The same by tool. */
  failures: Record<string, Failure>;
  /** Addresses that the guard refused, as they may be shown. */
  refused: string[];
}

export type Prepared = { ok: true; size: number | undefined; type: string } | { ok: false; failure: Failure };

/** Our own log: what a message to the caller leaves out. Never an address as a whole, never a credential. */
export interface SourceLog {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
