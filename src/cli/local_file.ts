/** A file of this machine, or stdin, to be sent. */
import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { SentFile } from './api/multipart_form.ts';
import { usage } from './exits.ts';
import { oneLine } from './terminal.ts';

const PIECE_BYTES = 1 << 18;

/** As much of a name as the service keeps. */
const MOST_NAME = 200;

/** What cannot stand in the head of a part of a form is percent-encoded, so that the service has the same name. */
const sentName = (path: string): string =>
  basename(path)
    .replaceAll(/[\p{Cc}"\\]/gu, encodeURIComponent)
    .slice(-MOST_NAME);

const REASONS: Readonly<Record<string, string>> = {
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
    const reason = REASONS[cause.code ?? ''] ?? `cannot be read: ${cause.code}`;
    throw usage(`${oneLine(path.slice(0, 200))}: ${reason}`, HINT, cause);
  };

export async function localFile(path: string): Promise<SentFile> {
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

export function standardInput(): SentFile {
  if (process.stdin.isTTY) throw usage('-: stdin is a terminal', 'give it a file: probeyard probe - < film.mp4');
  return { name: 'stdin', size: undefined, canRepeat: false, open: () => Promise.resolve(process.stdin) };
}
