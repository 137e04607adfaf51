/**
 * The two sources of a comparison, one after the other: while one is open, the other is not. No tool, connection or
 * credential of the first is left when the second is opened.
 */
import { SIDES, type Side } from '../../platform/bus/messages.ts';
import { redactor } from '../../source/address/redact.ts';
import type { Source } from '../../source/source.ts';
import type { RawToolResult } from './output.ts';
import type { JobSource, OriginUses, SourceFailure } from './source.ts';

/** `readBefore`: what was read of the other source, because the bytes of both count together. */
type Open = (source: Source, readBefore: number) => JobSource;

const NOTHING = { requests: 0, connections: 0, bytes: 0, ms: 0 };

/** The first source; `next` opens the second in its place. */
export function openInTurn([a, b]: readonly [Source, Source], open: Open): JobSource {
  const first = open(a, 0);
  let second: JobSource | undefined;
  const strike = { a: redactor(a), b: redactor(b) };
  // Secrets of both are removed from the text of either. Addresses are restored by the source that served them.
  const redact = (text: string, side: Side = 'a'): string =>
    side === 'a' ? strike.b(first.redact(text)) : strike.a(second?.redact(text) ?? strike.b(text));
  return {
    ...first,
    redact,
    ioUsage: () => first.ioUsage() + (second?.ioUsage() ?? 0),
    origin: () => together(first.origin(), second?.origin() ?? {}),
    failure: (tool) => (tool === undefined ? failureOfBoth(first.failure(), second?.failure()) : first.failure(tool)),
    next() {
      first.close();
      second ??= open(b, first.ioUsage());
      return { ...second, redact: (text) => redact(text, 'b') };
    },
    close() {
      first.close();
      second?.close();
    },
  };
}

function together(a: OriginUses, b: OriginUses): OriginUses {
  const all = { ...a };
  for (const [tool, use] of Object.entries(b)) {
    const { requests, connections, bytes, ms } = all[tool] ?? NOTHING;
    all[tool] = {
      requests: requests + use.requests,
      connections: connections + use.connections,
      bytes: bytes + use.bytes,
      ms: ms + use.ms,
    };
  }
  return all;
}

/** Only what happened to both is a failure of the request: otherwise each run tells its own. */
function failureOfBoth(a: SourceFailure | undefined, b: SourceFailure | undefined): SourceFailure | undefined {
  if (a === undefined || b === undefined || a.failure !== b.failure) return undefined;
  return {
    failure: a.failure,
    ...(a.status !== undefined && a.status === b.status ? { status: a.status } : {}),
    message: `a: ${a.message}; b: ${b.message}`,
  };
}

/** What the tools have on one source: time, and what earlier ones printed. */
export interface Allowance {
  remainingMs: number;
  kept: number;
}

export interface InTurn {
  remainingMs: number;
  signal: AbortSignal;
  /** Ends every process of the tools; false if one is left. */
  killAll(): Promise<boolean>;
  /** Runs all tools on one source. */
  run(source: JobSource, allowance: Allowance): Promise<RawToolResult[]>;
}

/** The first source has half of the time, the second what is left: a slow first one never costs the second its runs. */
export async function runInTurn(
  source: JobSource,
  { remainingMs, signal, killAll, run }: InTurn,
): Promise<RawToolResult[]> {
  const begun = performance.now();
  const [a, b] = SIDES;
  const of = (results: readonly RawToolResult[], side: Side) => results.map((result) => ({ ...result, side }));
  const first = of(await run(source, { remainingMs: remainingMs / 2, kept: 0 }), a);
  // A dropped job publishes nothing, and another one may begin at any moment.
  if (signal.aborted || source.next === undefined) return first;
  source.close();
  const clean = await killAll();
  if (signal.aborted) return first;
  if (!clean) throw new Error('the tools container could not be cleaned');
  const other = source.next();
  void other.prepare();
  const left = Math.max(1, remainingMs - (performance.now() - begun));
  const kept = first.reduce((sum, { output }) => sum + (output?.length ?? 0), 0);
  return [...first, ...of(await run(other, { remainingMs: left, kept }), b)];
}
