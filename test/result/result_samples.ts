import type { FailureCode } from '../../src/platform/bus/result_body.ts';
import type { TextBody, TextToolResult } from './text_body.ts';

export const good = (
  name: TextToolResult['name'],
  output: string,
  more: Partial<TextToolResult> = {},
): TextToolResult => ({
  name,
  version: '7.1',
  success: true,
  durationMs: 12.4,
  usageMs: 12.4,
  exitCode: 0,
  signal: null,
  format: 'json',
  output,
  ...more,
});

export const bad = (
  name: TextToolResult['name'],
  failure: FailureCode,
  error: string,
  more: Partial<TextToolResult> = {},
): TextToolResult => ({
  name,
  version: '7.1',
  success: false,
  durationMs: 5,
  usageMs: 5,
  exitCode: 1,
  signal: null,
  failure,
  error,
  format: 'json',
  output: null,
  ...more,
});

export const body = (tools: TextToolResult[], more: Partial<TextBody> = {}): TextBody => ({
  tools,
  ioUsage: 1234,
  ...more,
});
export const BOTH = [
  { name: 'ffprobe', version: '7.1' },
  { name: 'mediainfo', version: '7.1' },
] as const;
