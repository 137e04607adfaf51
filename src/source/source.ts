/** A source as plain data: the API or the controller parses an address once, and everything else is given this. */

/** What the address promises to be; what the bytes are is found out when they are read. */
export const CLASSES = ['file', 'hls', 'dash', 'stream'] as const;
export type SourceClass = (typeof CLASSES)[number];

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
  /**
   * `path`: the bucket is the first segment; `host`: it is the first label of the name. Absent for s3://, where the
   * installation's endpoint decides.
   */
  style?: 'path' | 'host';
}

export interface Source {
  /** One of protocols/table.ts. */
  scheme: string;
  /** The normal form, without user info and without fragment. */
  url: string;
  credentials?: Credentials;
  s3?: S3Object;
  class: SourceClass;
}

export const holdsCredentials = (source: Source): boolean =>
  source.credentials !== undefined || source.s3?.secret !== undefined || source.url.includes('?');
