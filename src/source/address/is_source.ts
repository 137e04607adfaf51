/** Whether JSON is a valid Source: the sealing key is public, so the sender need not have parsed it. */
import { isHeaders, unfitFor } from '../headers.ts';
import { SCHEMES } from '../protocols/table.ts';
import { CLASSES, type S3Object, type Source, type SourceClass } from '../source.ts';

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const isText = (value: unknown): value is string => typeof value === 'string';
const isOptionalText = (value: unknown): boolean => value === undefined || isText(value);

const isCredentials = (value: unknown): boolean =>
  value === undefined || (isObject(value) && isText(value['user']) && isText(value['password']));
const isS3Object = (value: unknown): boolean =>
  value === undefined ||
  (isObject(value) &&
    isText(value['bucket']) &&
    isText(value['key']) &&
    ['region', 'accessKey', 'secret', 'session', 'bearer'].every((name) => isOptionalText(value[name])) &&
    [undefined, 'path', 'host'].includes(value['style'] as S3Object['style']));

const isSentHeaders = (value: Record<string, unknown>): boolean => {
  const { headers } = value;
  return headers === undefined || (isHeaders(headers) && unfitFor(value as unknown as Source, headers) === undefined);
};

export const isSource = (value: unknown): value is Source =>
  isObject(value) &&
  isText(value['scheme']) &&
  SCHEMES.includes(value['scheme']) &&
  isText(value['url']) &&
  value['url'].startsWith(`${value['scheme']}://`) &&
  !/\p{Cc}/u.test(value['url']) &&
  CLASSES.includes(value['class'] as SourceClass) &&
  isCredentials(value['credentials']) &&
  isS3Object(value['s3']) &&
  isSentHeaders(value);
