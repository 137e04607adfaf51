/** What a caller names as a source: an address that the service reads itself, or a file that is sent to it. */
import { hideQuery } from '../base/hide_query.ts';
import { usage } from './exits.ts';
import { oneLine } from './terminal.ts';
import type { SentFile } from './api/multipart_form.ts';

// An address as it may be shown: no user info, and no value of a query.

/** A secret key of S3 may contain a slash: behind a colon, everything up to the last @ may be one. */
const USER_INFO = /^([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#@:]*:[^?#]*@|[^/?#]*@)/i;

export const shownSource = (text: string): string =>
  oneLine(hideQuery(text.replace(/#.*$/s, '').replace(USER_INFO, '$1')));

const isAddress = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(text);

export function checkedSource(text: string): string {
  if (isAddress(text)) return text;
  throw usage(
    `${oneLine(text.slice(0, 200))}: is not an address`,
    'the service reads the source itself: give an address such as https://…, s3://… or rtmp://…',
  );
}

export interface GivenSource {
  /** As it was given. */
  text: string;
  /** As it may be shown. */
  shown: string;
  /** A file of this machine; absent: `text` is an address. */
  file?: SentFile;
}

const STDIN = '-';

/** For what takes addresses alone. */
export function givenAddress(text: string): GivenSource {
  return { text: checkedSource(text), shown: shownSource(text) };
}

export async function givenSource(text: string): Promise<GivenSource> {
  if (isAddress(text)) return givenAddress(text);
  const { standardInput, localFile } = await import('./local_file.ts');
  return text === STDIN
    ? { text, shown: 'stdin', file: standardInput() }
    : { text, shown: oneLine(text), file: await localFile(text) };
}

/** Read before anything is sent: one that is missing is a mistake in the command. */
export function givenSources(texts: readonly string[]): Promise<GivenSource[]> {
  if (texts.filter((text) => text === STDIN).length > 1) throw usage('-: stdin can be read once');
  return Promise.all(texts.map(givenSource));
}

/** What a report for CI says of it. */
export const subjectOf = ({ text, shown, file }: GivenSource): { subject: string; path?: string } =>
  file && text !== STDIN ? { subject: shown, path: text } : { subject: shown };

/** How it is called in output for programs. */
export const memberOf = ({ shown, file }: GivenSource): { url: string } | { file: string } =>
  file ? { file: shown } : { url: shown };
