/** The interface of a kind of source. A new scheme is one file (or folder) beside this one, and one row of table.ts. */
import type { Socket } from 'node:net';
import type { Guard } from '../address/guard.ts';
import type { S3Settings } from '../address/target.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Transport } from '../http/transport.ts';
import type { Source, SourceGroup } from '../source.ts';

export interface ParseOptions {
  /**
   * Additional hosts with an S3 API, besides Amazon's: `minio.example.com`, `minio.example.com:9000`,
   * `.minio.example.com`.
   */
  s3Hosts?: readonly string[];
}

export interface SchemeFacts {
  /** Default port; absent if every address contains one, or no host. */
  port?: number;
  /** The group that it counts to in statistics. Groups are database columns, so a new scheme uses an existing one. */
  countsAs: SourceGroup;
}

export interface Protocol {
  schemes: Readonly<Record<string, SchemeFacts>>;
  /** Parses the part after `scheme://`. Error messages never repeat any part of the text. */
  parse(text: string, scheme: string, options: ParseOptions): Source;
  /** For sources read over HTTP: the address to fetch. Absent: read by `open`, or by tools through a relay. */
  webUrl?(source: Source, settings: S3Settings): string;
  /** Loads the code of the protocol: a warm runner mostly reads web addresses. */
  open?(context: SocketContext): Promise<Transport>;
  /** For streams: the extension under which a tool gets the beginning of the stream as a file. */
  recordedAs?: string;
  /** For streams that tools read themselves through a relay: the protocol's name, for errors of tools that cannot. */
  relayedAs?: string;
  /** The path contains a stream key: only its first segment is shown. */
  keyInPath?: boolean;
}

/** Destination of a source. */
export interface Place {
  host: string;
  port: number;
  /** Host and port as written in an address, without the scheme's default port. */
  authority: string;
  /** Includes the query; percent-encoded. */
  path: string;
}

/** Everything needed to read from an origin in a protocol other than HTTP. */
export interface SocketContext {
  source: Source;
  place: Place;
  guard: Guard;
  /** Opens a socket to a checked address: one of the host's, or the given one that it resolved to before. */
  dial(host: string, port: number, options: { secure: boolean; address?: string | undefined }): Promise<Socket>;
  /** Whether connections to this host use the installation's egress proxy. */
  throughEgress(host: string): boolean;
  signal: AbortSignal;
  count: Exchange['count'];
  /** How long the origin may be silent. */
  idleMs: number;
  /** Time for a stream to send its first bytes, after which it counts as offline. */
  offlineMs: number;
}
