/** What a result says, as a policy reads it: an output is read where a rule asks for it, and only then. */
import { MOST_OUTPUT } from './limits.ts';
import type { Facts, ToolFacts } from './types.ts';

export interface Printed extends Pick<ToolFacts, 'name' | 'version' | 'success'> {
  /** The output as callers see it; TOO_LARGE in place of one that is not read. */
  text(): string | null;
}

/** Longer than any output that is read. */
export const TOO_LARGE = ' '.repeat(MOST_OUTPUT + 1);

const lazily = <T>(read: () => T): (() => T) => {
  let known: { value: T } | undefined;
  return () => (known ??= { value: read() }).value;
};

function objectIn(text: string | null): object | undefined {
  if (text === null || text.length > MOST_OUTPUT) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A validator that finds fault has a report, too: of those success says nothing. */
export function factsOf(printed: readonly Printed[], report: object | undefined): Facts {
  const reportOf = (name: string) => lazily(() => objectIn(printed.find((tool) => tool.name === name)?.text() ?? null));
  const [hls, c2pa] = [reportOf('msv'), reportOf('c2pa')];
  return {
    report,
    tools: printed.map(({ name, version, success, text }) => {
      const output = lazily(text);
      return {
        name,
        version,
        success,
        get output() {
          return output();
        },
      };
    }),
    get hls() {
      return hls();
    },
    get c2pa() {
      return c2pa();
    },
  };
}
