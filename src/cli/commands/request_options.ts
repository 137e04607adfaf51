/** Options that become fields of a request. */
import { jsonIn } from '../../base/json_in.ts';
import { milliseconds } from '../args.ts';
import type { Given, Option } from '../command.ts';
import { usage } from '../exits.ts';
import { CHECKS, LONGEST, type Limited, type Longest } from '../../media/qc/verdict.ts';
import { NOUNS } from '../../media/qc/words.ts';

export const TIMES: readonly Option[] = [
  { name: 'timeout', value: 'TIME', help: 'limit of the analysis, such as 30s or 2m' },
  { name: 'queue-timeout', value: 'TIME', help: 'limit of the time in the queue before it' },
];
export const VERSIONS: readonly Option[] = [
  { name: 'ffprobe', value: 'VERSION', help: 'version of ffprobe' },
  { name: 'mediainfo', value: 'VERSION', help: 'version of mediainfo' },
];
export const SET: Option = {
  name: 'set',
  value: 'FIELD=VALUE',
  many: true,
  help: 'any field of the request, such as ffprobe.show_frames=true',
};
export const PARALLEL: Option = {
  name: 'parallel',
  value: 'COUNT',
  help: 'requests at once where there are several sources; default: 4',
};

/** What decides between pass, warn and block. */
export const CHECKED_BY: readonly Option[] = [
  ...CHECKS.map((check) => ({
    name: `longest-${check}`,
    value: 'TIME',
    help: `block a longer ${NOUNS[check]}; default: ${LONGEST[check]}s`,
  })),
  { name: 'integrity', help: 'block decode errors and wrong checksums, too: reads the file three times' },
  {
    name: 'manifest',
    value: 'FILE',
    isFile: true,
    help: 'block a file without its hash in this list of sha256sum, md5sum or BagIt',
  },
  { name: 'fail-on', value: 'LEVEL', values: ['block', 'warn'], help: 'warn: warnings fail, too; default: block' },
];

/** In seconds. */
export function longestPassages({ value }: Given): Longest {
  const given = CHECKS.map((check) => {
    const ms = value(`longest-${check}`, milliseconds);
    return [check, ms === undefined ? LONGEST[check] : ms / 1_000] as const;
  });
  return Object.fromEntries(given) as Record<Limited, number>;
}

/** What is undefined is not sent. */
export const times = ({ value }: Given) => ({
  timeout: value('timeout', milliseconds),
  queue_timeout: value('queue-timeout', milliseconds),
});

export function versions({ text }: Given): Record<string, { version: string }> {
  const pairs = ['ffprobe', 'mediainfo'].flatMap((tool) => {
    const version = text(tool);
    return version === undefined ? [] : [[tool, { version }] as const];
  });
  return Object.fromEntries(pairs);
}

const PATH = /^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)?$/;
const LITERAL = /^(?:true|false|null|-?\d+(?:\.\d+)?|".*")$/s;

/** A number, boolean or null, else a text; `"5"` is a text, too. */
function valueOf(text: string): unknown {
  const value = LITERAL.test(text) ? jsonIn(text) : undefined;
  return value === undefined ? text : value;
}

export const CACHE: Option = {
  name: 'cache',
  value: 'TIME',
  help: 'take the result of an equal request that read the same file at most so long ago: 10m, 1h, 7d; 0s: none',
};
const DAY_MS = 86_400_000;

/** How old the result may be, in seconds. */
export function cached({ value }: Given): { cache?: { max_age: number } } {
  const ms = value('cache', milliseconds);
  if (ms === undefined) return {};
  if (ms > 30 * DAY_MS || (ms > 0 && ms < 1_000)) throw usage('--cache: must be 0s, or from 1s to 30d');
  return { cache: { max_age: Math.floor(ms / 1_000) } };
}

/** The fields of `--set`, over those that other options gave. */
export function withFields(fields: Record<string, unknown>, { texts }: Given): Record<string, unknown> {
  const made = new Map(Object.entries(fields));
  for (const text of texts('set')) {
    const place = text.indexOf('=');
    const path = text.slice(0, Math.max(0, place));
    if (!PATH.test(path)) throw usage('--set: must be FIELD=VALUE or TOOL.FIELD=VALUE');
    const value = valueOf(text.slice(place + 1));
    const [field, member] = path.split('.') as [string, string | undefined];
    if (member === undefined) made.set(field, value);
    else {
      const before = made.get(field);
      const members = typeof before === 'object' && before !== null ? Object.entries(before) : [];
      made.set(field, Object.fromEntries([...members, [member, value]]));
    }
  }
  return Object.fromEntries(made);
}

export const POLICY = {
  name: 'policy',
  short: 'p',
  value: 'POLICY',
  isFile: true,
  help: 'name of a policy (house-delivery, shared/web-mp4), or a file in YAML or JSON that holds one',
} as const;

/** Which of the fields that differ are told. */
export const DIFFERENCES: readonly Option[] = [
  {
    name: 'level',
    value: 'LEVEL',
    values: ['canonical', 'raw'],
    help: 'only fields as the tools print them (raw), or as the report names them (canonical)',
  },
  {
    name: 'ignore',
    value: 'PATH',
    many: true,
    help: 'leave out this field and all below it: format.tags, or streams[].index for all streams',
  },
];
