/** A source as plain data: the address is parsed once by the API or the controller, and everything else uses this. */
import type { Listing } from './listing/listing.ts';
import type { UploadPlace } from './upload/place.ts';
import type { SourceHeader } from './headers.ts';

/** The class that the address suggests; the actual format is only known once the bytes are read. */
export type SourceClass = 'file' | 'hls' | 'dash' | 'stream';

/** Groups of statistics: playlists and manifests, then kinds of addresses. Each is a column of the rollups. */
export const SOURCE_GROUPS = ['hls', 'dash', 'http', 'https', 's3', 'ftp', 'rtmp', 'rtsp', 'srt'] as const;
export type SourceGroup = (typeof SOURCE_GROUPS)[number];

export interface Credentials {
  user: string;
  password: string;
}

export interface S3Object {
  bucket: string;
  /** The object's name, not percent-encoded. */
  key: string;
  region?: string;
  accessKey?: string;
  secret?: string;
  /** That the keys are valid for a while only, and with this. */
  session?: string;
  /** In place of keys: the bucket (of az, the container) is read with this token. */
  bearer?: string;
  /**
   * `path`: the bucket is the first path segment; `host`: the first label of the host name. Absent for s3://, which
   * depends on the installation's endpoint.
   */
  style?: 'path' | 'host';
}

export interface TagAsked {
  /** The id of the request. */
  request: string;
  /** The operator does not let the credential do it. */
  isRefused?: true;
}

export interface Source {
  /** One of protocols/table.ts. */
  scheme: string;
  /** Normalised, without user info and fragment. */
  url: string;
  credentials?: Credentials;
  s3?: S3Object;
  /** For the host of `url` alone. */
  headers?: SourceHeader[];
  /** What is wanted of its bucket: it is listed, and not read. */
  listing?: Listing;
  /** What was read is tagged with the verdict. */
  tag?: TagAsked;
  /** A file that was sent with the request. */
  upload?: UploadPlace;
  class: SourceClass;
}

/** Whether requests to its bucket are signed, or have a token. */
export const isKeyed = ({ s3 }: Pick<Source, 's3'>): boolean => s3?.secret !== undefined || s3?.bearer !== undefined;

export const holdsCredentials = (source: Source): boolean =>
  source.credentials !== undefined ||
  isKeyed(source) ||
  source.headers !== undefined ||
  source.upload !== undefined ||
  source.url.includes('?');
