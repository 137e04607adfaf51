/** A source as plain data: the API or the controller parses an address once, and everything else is given this. */

export const schemes = ['http', 'https', 's3', 'ftp', 'rtmp', 'rtmps', 'rtsp', 'rtsps', 'srt'] as const;
export type Scheme = (typeof schemes)[number];

/** What the address promises to be; what the bytes are is found out when they are read. */
const classes = ['file', 'hls', 'dash', 'stream'] as const;
export type SourceClass = (typeof classes)[number];

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

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const isText = (value: unknown): boolean => typeof value === 'string';
const isOptionalText = (value: unknown): boolean => value === undefined || isText(value);

const isCredentials = (value: unknown): boolean =>
  value === undefined || (isObject(value) && isText(value['user']) && isText(value['password']));
const isS3Object = (value: unknown): boolean =>
  value === undefined ||
  (isObject(value) &&
    isText(value['bucket']) &&
    isText(value['key']) &&
    ['region', 'accessKey', 'secret'].every((name) => isOptionalText(value[name])) &&
    [undefined, 'path', 'host'].includes(value['style'] as S3Object['style']));

/** Whether JSON is a Source: the key that seals one is public, so its sender need not have parsed it. */
export const isSource = (value: unknown): value is Source =>
  isObject(value) &&
  schemes.includes(value['scheme'] as Scheme) &&
  typeof value['url'] === 'string' &&
  value['url'].startsWith(`${value['scheme'] as Scheme}://`) &&
  !/\p{Cc}/u.test(value['url']) &&
  classes.includes(value['class'] as SourceClass) &&
  isCredentials(value['credentials']) &&
  isS3Object(value['s3']);
