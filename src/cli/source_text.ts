/** An address as it may be shown: no user info, and no value of a query. */
import { EXIT, Failure } from './failure.ts';
import { oneLine } from './terminal.ts';

/** A secret key of S3 may contain a slash: behind a colon, everything up to the last @ may be one. */
const USER_INFO = /^([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#@:]*:[^?#]*@|[^/?#]*@)/i;

/** A query without names is a single value. */
const hidden = (pair: string): string => {
  const place = pair.indexOf('=');
  if (place === -1) return pair === '' ? '' : 'REDACTED';
  return `${pair.slice(0, place)}=REDACTED`;
};

export function shownSource(text: string): string {
  const [path = '', ...query] = text.replace(/#.*$/s, '').replace(USER_INFO, '$1').split('?');
  if (query.length === 0) return oneLine(path);
  return oneLine(`${path}?${query.join('?').split('&').map(hidden).join('&')}`);
}

export const isAddress = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(text);

export function checkedSource(text: string): string {
  if (isAddress(text)) return text;
  throw new Failure(`${oneLine(text.slice(0, 200))}: is not an address`, EXIT.usage, {
    hint: 'the service reads the source itself: give an address such as https://…, s3://… or rtmp://…',
  });
}
