/** What a kind of source is. A new scheme is one file (or folder) beside this one, and one row of table.ts. */
import type { Socket } from 'node:net';
import type { SourceGroup } from '../../statistics/resources.ts';
import type { Guard } from '../address/guard.ts';
import type { S3Settings } from '../address/target.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Transport } from '../http/transport.ts';
import type { Source } from '../source.ts';

export interface ParseOptions {
  /** Names that speak S3 beside Amazon's: `minio.example.com`, `minio.example.com:9000`, `.minio.example.com`. */
  s3Hosts?: readonly string[];
}

export interface SchemeFacts {
  /** Of an address that names none; absent where every address names one, or no host. */
  port?: number;
  /**
   * The group that it counts to in statistics. Groups are columns of the database, so a new scheme counts to one that
   * is there.
   */
  countsAs: SourceGroup;
}

export interface Protocol {
  schemes: Readonly<Record<string, SchemeFacts>>;
  /** Reads what follows `scheme://`. No message of an error repeats any part of the text. */
  parse(text: string, scheme: string, options: ParseOptions): Source;
  /** Read over HTTP: the address that it is fetched from. Absent: `open` reads it, or tools through a relay. */
  webUrl?(source: Source, settings: S3Settings): string;
  open?(context: SocketContext): Transport;
  /** A stream: the ending of its name for a tool that gets the beginning of it as a file. */
  recordedAs?: string;
  /** A stream that tools speak themselves, through the relay for it: by its name for those that cannot. */
  relayedAs?: string;
  /** The path holds a stream's key: only its first segment is shown. */
  keyInPath?: boolean;
}

/** Where a source leads. */
export interface Place {
  host: string;
  port: number;
  /** Host and port as an address spells them; without the port that the scheme means anyway. */
  authority: string;
  /** With its query, still encoded. */
  path: string;
}

/** What is needed to speak to an origin in another language than HTTP. */
export interface SocketContext {
  source: Source;
  place: Place;
  guard: Guard;
  /** Opens a socket to a checked address: one of the host's, or the one that it led to before. */
  dial(host: string, port: number, options: { secure: boolean; address?: string | undefined }): Promise<Socket>;
  /** Whether the way to this host leads through the installation's egress proxy. */
  throughEgress(host: string): boolean;
  signal: AbortSignal;
  count: Exchange['count'];
  /** How long the origin may be silent. */
  idleMs: number;
  /** How long a stream may take to send its first bytes: after that it is offline. */
  offlineMs: number;
}
