/** A source as the rest of the product hands it about: plain data that can be sealed as JSON and opened again. */

export const schemes = ['http', 'https', 's3', 'ftp', 'rtmp', 'rtmps', 'rtsp', 'rtsps', 'srt'] as const;
export type Scheme = (typeof schemes)[number];

/** What the address promises to be; what the bytes are is found out when they are read. */
export type SourceClass = 'file' | 'hls' | 'dash' | 'stream';

export type Credentials = { user: string; password: string };

export type S3Object = {
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
};

export type Source = {
  scheme: Scheme;
  /** The normal form, without user info and without fragment. */
  url: string;
  credentials?: Credentials;
  s3?: S3Object;
  class: SourceClass;
};

export const holdsCredentials = (source: Source): boolean =>
  source.credentials !== undefined || source.s3?.secret !== undefined || source.url.includes('?');
