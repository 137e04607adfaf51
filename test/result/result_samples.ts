import type { FailureCode, ResultBody, ToolResult } from '../../src/platform/bus/result_body.ts';

export const good = (name: ToolResult['name'], output: string, more: Partial<ToolResult> = {}): ToolResult => ({
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
  name: ToolResult['name'],
  failure: FailureCode,
  error: string,
  more: Partial<ToolResult> = {},
): ToolResult => ({
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

export const body = (tools: ToolResult[], more: Partial<ResultBody> = {}): ResultBody => ({
  tools,
  ioUsage: 1234,
  ...more,
});
export const BOTH = [
  { name: 'ffprobe', version: '7.1' },
  { name: 'mediainfo', version: '7.1' },
] as const;
export type TextBody = ResultBody;
