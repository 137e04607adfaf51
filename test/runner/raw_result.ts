import type { RawToolResult } from '../../src/service/runner/output.ts';

/** What a tool printed, as the runner has it. */
export const rawResult = (
  name: RawToolResult['name'],
  output: unknown,
  more: Partial<RawToolResult> = {},
): RawToolResult => ({
  name,
  version: '9.0',
  success: true,
  durationMs: 10,
  usageMs: 10,
  exitCode: 0,
  signal: null,
  format: 'json',
  output: Buffer.from(typeof output === 'string' ? output : JSON.stringify(output)),
  ...more,
});
