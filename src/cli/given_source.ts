/** What a caller names as a source: an address that the service reads itself, or a file that is sent to it. */
import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
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

// A file of this machine, or stdin, to be sent.

const PIECE_BYTES = 1 << 18;

/** As much of a name as the service keeps. */
const MOST_NAME = 200;

/** What cannot stand in the head of a part of a form is percent-encoded, so that the service has the same name. */
const sentName = (path: string): string =>
  basename(path)
    .replaceAll(/[\p{Cc}"\\]/gu, encodeURIComponent)
    .slice(-MOST_NAME);

/** Why a file cannot be opened, by the code of its error. */
export const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'may not be read',
  EISDIR: 'is a folder',
};

const HINT = 'an address begins with its scheme: https://, s3://, rtmp:// …';

/** The cause has the name of the error. */
const refusing =
  (path: string) =>
  (cause: NodeJS.ErrnoException | { code: string }): never => {
    const reason = UNREADABLE[cause.code ?? ''] ?? `cannot be read: ${cause.code}`;
    throw usage(`${oneLine(path.slice(0, 200))}: ${reason}`, HINT, cause);
  };

async function localFile(path: string): Promise<SentFile> {
  const found = await stat(path).catch(refusing(path));
  if (found.isDirectory()) refusing(path)({ code: 'EISDIR' });
  // A pipe says nothing of its size, and files of the kernel say 0.
  const size = found.isFile() && found.size > 0 ? found.size : undefined;
  return {
    name: sentName(path),
    size,
    canRepeat: found.isFile(),
    async open() {
      const handle = await open(path).catch(refusing(path));
      return handle.createReadStream({
        highWaterMark: PIECE_BYTES,
        // What is appended meanwhile is not sent.
        ...(size === undefined ? {} : { end: size - 1 }),
      });
    },
  };
}

function standardInput(): SentFile {
  if (process.stdin.isTTY) throw usage('-: stdin is a terminal', 'give it a file: probeyard probe - < film.mp4');
  return { name: 'stdin', size: undefined, canRepeat: false, open: () => Promise.resolve(process.stdin) };
}

const STDIN = '-';

/** For what takes addresses alone. */
export function givenAddress(text: string): GivenSource {
  return { text: checkedSource(text), shown: shownSource(text) };
}

export async function givenSource(text: string): Promise<GivenSource> {
  if (isAddress(text)) return givenAddress(text);
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
