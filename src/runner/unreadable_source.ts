import type { FailureCode } from '../bus/messages.ts';
import type { JobSource } from './source.ts';

const CODES: Readonly<Record<string, FailureCode>> = { refused: 'source-forbidden', 'too-large': 'source-too-large', cut: 'source-cut', 'origin-unreachable': 'origin-unreachable' };

/** Stands for a source that could not even be opened: its tools fail with what is wrong, and the request ends like any other. */
export function unreadableSource(error: unknown): JobSource {
  const { code = '', message } = error as Error & { code?: string };
  // An address that cannot be read or is not offered is the caller's mistake, as one that is refused.
  const isSource = code.startsWith('source-') || code in CODES;
  const failure = { failure: CODES[code] ?? ('source-forbidden' as const), message: isSource ? message : 'the source could not be opened' };
  return {
    address: () => 'http://127.0.0.1:9/',
    environment: () => ({}),
    prepare: () => Promise.resolve(),
    redact: (text) => text,
    ioUsage: () => 0,
    failure: () => failure,
    close() {},
  };
}
