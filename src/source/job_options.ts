/** Input and output of a job of the source proxy. */
import type { Cause } from '../base/causes.ts';
import type { SourceError } from './error.ts';
import type { OriginUse } from './meter.ts';
import type { Source } from './source.ts';
import type { SourceException } from '../base/source_settings.ts';

export interface Limits {
  /** Applies to each file's declared size, and to the total read by the request: as often as it is read whole. */
  maxBytes: number;
  /** How often it is asked to be read whole; by default once. */
  reads?: number;
  /** Read by the request from another source before this one: counts towards the total. */
  readBefore?: number;
}

export interface JobOptions {
  source: Source;
  /** Exceptions for this request's token, in addition to the installation's. */
  allow?: readonly SourceException[];
  limits: Limits;
  /** Whether a tool requires a valid certificate of the origin. The default is true. */
  tls?: { verify?: Readonly<Record<string, boolean>> };
  /**
   * Tools that read a live stream directly, and speak RTSP themselves. Others get the beginning of a stream as a file,
   * and no RTSP.
   */
  live?: readonly string[];
  /** Tools that get playlists unmodified, with headers that describe them (playlist/parameters.ts). */
  readPlaylistsAsTheyAre?: readonly string[];
  /** Whether a tool fetches files that a file of any format refers to: they are read with the source's credentials. */
  followsParts?: boolean;
}

/** Why the source could not be read, for the outcome of the request. The message may be shown. */
export interface Failure {
  code: SourceError['code'];
  reason?: SourceError['reason'];
  status?: number;
  /** The code under which callers see it. */
  cause: Cause;
  message: string;
}

export interface JobStats {
  /** Bytes read from origins, heads and framing included. */
  ioUsage: number;
  requests: number;
  /** Connections that were opened for this job. */
  connections: number;
  /** The same and the bytes by tool. */
  origin: Record<string, OriginUse>;
  /** The first failure of the source itself (not of addresses in a playlist). */
  failure?: Failure;
  /** The same by tool. */
  failures: Record<string, Failure>;
  /** Tools that were given anything of the source itself. */
  served: string[];
  /** Addresses refused by the guard, in displayable form. */
  refused: string[];
}

export type Prepared = { ok: true; size: number | undefined; type: string } | { ok: false; failure: Failure };

/** Internal log for details that callers do not get. Never contains a whole address or a credential. */
export interface SourceLog {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
