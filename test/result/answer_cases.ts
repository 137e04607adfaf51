/**
 * Results and the forms in which they are answered. What the answers were before results were framed is recorded in
 * answers.json: they are the same today.
 */
import type { ResponseForm } from '../../src/service/result/answer.ts';
import type { FileTool } from '../../src/media/tools/table.ts';
import { bad as failed, body, good } from './result_samples.ts';
import type { TextBody } from './text_body.ts';

export const RECORDED = { requestId: '0192f0c1-0000-7000-8000-000000000001', queueTimeMs: 3, error: null };
const frames = (count: number, more: object = {}) =>
  JSON.stringify(
    {
      frames: Array.from({ length: count }, (_, index) => ({
        index,
        'name "é" \u{1f3ac}': `a\\b\n${index}`,
        list: [1.5, null, { frames: [] }],
      })),
      ...more,
    },
    null,
    4,
  );
export const LONG = frames(1_600);

/** Without an exit code, which is not in the recorded answers. */
const bad: typeof failed = (name, failure, error, more) => failed(name, failure, error, { exitCode: null, ...more });

const SHOWN: readonly FileTool[] = ['ffprobe', 'mediainfo', 'probe_report', 'c2pa'];
const wanted = (more: Partial<ResponseForm> = {}): ResponseForm => ({
  shown: SHOWN,
  injectOutput: false,
  injectJson: false,
  ...more,
});
const FORMS: Readonly<Record<string, ResponseForm>> = {
  'the envelope': wanted(),
  'one document': wanted({ injectJson: true }),
  'one tool': wanted({ shown: ['ffprobe'] }),
  'one tool, bare': wanted({ shown: ['ffprobe'], injectOutput: true }),
  'the other tool, bare': wanted({ shown: ['mediainfo'], injectOutput: true, bareType: 'text/xml' }),
};
const single = (tool: 'msv' | 'c2pa'): Readonly<Record<string, ResponseForm>> => ({
  bare: { single: tool, shown: [], injectOutput: true, injectJson: false },
  'an object': { single: tool, shown: [], injectOutput: false, injectJson: true },
  'a text': { single: tool, shown: [], injectOutput: false, injectJson: false },
});
const COMPARED: Readonly<Record<string, ResponseForm>> = {
  'the comparison': { compared: true, shown: [], injectOutput: false, injectJson: false },
};

const FILES: Readonly<Record<string, TextBody>> = {
  'two small JSONs': body([good('ffprobe', '{"a":1e3,"a":2}\n'), good('mediainfo', ' {\n} \n')]),
  'a small text and its origin': body(
    [good('ffprobe', 'a,"b"\n\u{1f3ac}\u0001\u007f', { format: 'text' }), good('mediainfo', '{"m":1}')],
    { origin: { ffprobe: { requests: 2, connections: 1, bytes: 1234, ms: 5 } } },
  ),
  'small text declared as JSON': body([good('ffprobe', '{"a":1}, "metadata": {}'), good('mediainfo', '[1]')]),
  'a failed tool': body([bad('ffprobe', 'failed', 'x "y"\n (exit code 1)'), good('mediainfo', '{"m":1}')]),
  'failed tools': body([
    bad('ffprobe', 'crashed', 'x (exit code 139)', { exitCode: null, signal: 'SIGSEGV' }),
    bad('mediainfo', 'failed', 'y', { output: '{"error":{}}' }),
  ]),
  'no tool': body([]),
  'a timeline': body([good('ffprobe', '{"a":1}')], {
    timeline: { success: true, durationMs: 3.4, usageMs: 2.6, output: '{"streams":[]}' },
  }),
  'a failed timeline': body([good('ffprobe', '{"a":1}')], {
    timeline: { success: false, durationMs: 3.4, usageMs: 2.6, error: 'no packets', output: null },
  }),
  'one long JSON': body([good('ffprobe', LONG), good('mediainfo', '{"m":1}')]),
  'a short JSON before two long texts': body([
    good('ffprobe', '{"f":1}\n'),
    good('mediainfo', '<é&"\t>\n'.repeat(200_000), { format: 'text' }),
    good('c2pa', LONG),
  ]),
  'two long JSONs and a report': body([good('ffprobe', LONG), good('mediainfo', frames(1_500))], {
    report: { ...good('ffprobe', '{"r":1}'), name: 'probe_report' },
  }),
  'a long text': body([good('ffprobe', 'é"\\\n\u0001'.repeat(20_000), { format: 'text' }), good('mediainfo', LONG)]),
  'long text declared as JSON': body([good('ffprobe', `${LONG}, "metadata": {}`), good('mediainfo', LONG)]),
  'a list': body([good('ffprobe', `[${LONG}]`), good('mediainfo', LONG)]),
  'an object with a member named like another tool': body([
    good('ffprobe', frames(1_600, { mediainfo: 'own', x: { c2pa: 1 } })),
    good('mediainfo', LONG),
    good('c2pa', '{"c":1}'),
  ]),
  'a failed tool with output': body([
    bad('ffprobe', 'failed', 'x (exit code 1)', { output: LONG }),
    good('mediainfo', LONG),
  ]),
  'a lone surrogate as an escape': body([
    good('ffprobe', `{"a":"\\ud83d${'x'.repeat(300_000)}"}`),
    good('mediainfo', '{"b":"\\ud83d"}'),
  ]),
};

const SINGLES: Readonly<Record<string, string>> = {
  'a short report': JSON.stringify({ success: true, cli_output: 'told\n"é"', messages: [] }),
  'a short list': '[]',
  'short text': 'panic',
  'a report': JSON.stringify({ a: 'é"\\\n'.repeat(80_000), cli_output: 'told\n"x"', b: [1] }, null, 1),
  'a report without readable text': JSON.stringify({ a: 'x'.repeat(300_000), cli_output: { b: 1 } }),
  'text that is not JSON': `{${'x'.repeat(300_000)}`,
};

const fields = JSON.stringify({
  fields: [{ field: 'container', values: [{ run: '7.0', value: 'é"' }] }],
  summary: { fields: 1 },
});
const COMPARISONS: Readonly<Record<string, TextBody>> = {
  'two versions': body([good('ffprobe', LONG, { version: '7.0' }), good('ffprobe', '{"a":1}')], {
    comparison: { durationMs: 1, output: fields },
  }),
  'two sources': body(
    [
      good('ffprobe', '{"a":1}', { side: 'a', build: 'x' }),
      bad('ffprobe', 'origin-unreachable', 'the source is not accessible', { side: 'b' }),
    ],
    { comparison: { durationMs: 1, output: fields } },
  ),
  'nothing comparable': body([good('ffprobe', '{"a":1}', { version: '7.0' }), good('ffprobe', '{"a":1}')], {
    comparison: { durationMs: 1, output: '{"fields":' },
  }),
};

export interface AnswerCase {
  name: string;
  result: TextBody;
  form: ResponseForm;
}

const casesOf = (results: Readonly<Record<string, TextBody>>, forms: Readonly<Record<string, ResponseForm>>) =>
  Object.entries(results).flatMap(([what, result]) =>
    Object.entries(forms).map(([how, form]): AnswerCase => ({ name: `${what}: ${how}`, result, form })),
  );

export const ANSWER_CASES: readonly AnswerCase[] = [
  ...casesOf(FILES, FORMS),
  ...casesOf(COMPARISONS, COMPARED),
  ...(['msv', 'c2pa'] as const).flatMap((tool) =>
    casesOf(
      Object.fromEntries(
        Object.entries(SINGLES).map(([what, output]) => [`${tool}, ${what}`, body([good(tool, output)])]),
      ),
      single(tool),
    ),
  ),
];
