/** What ffprobe prints about a file of this machine that it cannot open. The service is not asked. */

export interface NotOpened {
  code: number;
  string: string;
}

/** As Linux numbers and words them, by the name of the error. */
const REASONS: Readonly<Record<string, NotOpened>> = {
  ENOENT: { code: -2, string: 'No such file or directory' },
  EACCES: { code: -13, string: 'Permission denied' },
  ENOTDIR: { code: -20, string: 'Not a directory' },
  EISDIR: { code: -21, string: 'Is a directory' },
};

export const reasonOf = (code: string | undefined): NotOpened | undefined =>
  code === undefined ? undefined : REASONS[code];

interface Writer {
  /** Around what is between. */
  frame: readonly [string, string];
  error(reason: NotOpened): string;
}

const WRITERS: Readonly<Record<string, Writer>> = {
  default: { frame: ['', ''], error: ({ code, string }) => `[ERROR]\ncode=${code}\nstring=${string}\n[/ERROR]\n` },
  csv: { frame: ['', ''], error: ({ code, string }) => `error,${code},${string}\n` },
  flat: { frame: ['', ''], error: ({ code, string }) => `error.code=${code}\nerror.string="${string}"\n` },
  ini: {
    frame: ['# ffprobe output\n\n', ''],
    error: ({ code, string }) => `[error]\ncode=${code}\nstring=${string}\n`,
  },
  json: {
    frame: ['{\n', '\n}\n'],
    error: ({ code, string }) => `    "error": {\n        "code": ${code},\n        "string": "${string}"\n    }`,
  },
  xml: {
    frame: ['<?xml version="1.0" encoding="UTF-8"?>\n<ffprobe>\n', '</ffprobe>\n'],
    error: ({ code, string }) => `    <error code="${code}" string="${string}"/>\n`,
  },
};

/** The standard output of ffprobe in a format. */
export function notOpened(reason: NotOpened, format: string, showsError: boolean): string {
  const { frame, error } = WRITERS[format] ?? WRITERS['default']!;
  return `${frame[0]}${showsError ? error(reason) : ''}${frame[1]}`;
}
