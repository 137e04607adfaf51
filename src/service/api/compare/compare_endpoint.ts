/**
 * `POST /v1/compare`: what several versions of a tool say of one file, what one version says of two files, or what two
 * results on record say. The last is compared by the API: nothing runs.
 */
import Type, { type Static } from 'typebox';
import { codeMember } from '../../../base/causes.ts';
import { MAX_TIMEOUT_MS, TIMEOUT_MS, TOOL_TIMEOUT_MS } from '../../../base/limits.ts';
import { REPORT_TOOLS, type ReportTool } from '../../../media/tools/probe_report.ts';
import { TOOL_TABLE } from '../../../media/tools/table.ts';
import { MOST_TOOLS, type ToolRequest } from '../../../platform/kube/probe_job.ts';
import { SCHEMES } from '../../../source/protocols/table.ts';
import { COMPARED, JSON_TYPE, runOf } from '../../result/answer.ts';
import type { Deps } from '../deps.ts';
import { ApiError, inside, invalid } from '../errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { takeRequestRate } from '../http/rate.ts';
import { checkedBy } from '../http/read_input.ts';
import { type Context, tokenOf } from '../http/request_context.ts';
import { closed, milliseconds, nonEmpty, UUID } from '../http/request_fields.ts';
import { ComparisonAnswerSchema } from '../probe/answer_schemas.ts';
import { byQueryAndBody } from '../probe/by_query_and_body.ts';
import { probeRequest } from '../probe/probe_request.ts';
import { MAX_ADDRESS, SOURCE_FIELDS, timeFields, webhookFields } from '../probe/request_source.ts';
import { runProbe } from '../probe/run_request.ts';
import { storedResult, untilClosed, type NoResult, type StoredResult } from '../probe/stored_result.ts';
import { type Catalog, optionFields, toolRequest, type ToolVersion } from '../probe/tool_versions.ts';
import type { TextRun } from '../work/jobs.ts';

/** What a request says of one tool. */
interface AskedVersions extends Record<string, unknown> {
  /** Of one source. */
  versions?: string[];
  /** Of two sources. */
  version?: string;
  timeout: number;
}

function versionsOf(name: ReportTool) {
  return Type.Optional(
    Type.Unsafe<AskedVersions>(
      closed(
        {
          versions: Type.Optional(
            Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
              minItems: 2,
              maxItems: MOST_TOOLS,
              uniqueItems: true,
              description:
                `With \`url\`: versions of ${name}, in the order in which they are compared: ` +
                '`["4.4", "7.1"]`; in a form `4.4,7.1`.',
            }),
          ),
          version: Type.Optional(
            nonEmpty(64, `With \`urls\`: the version of ${name} that reads both sources. Default: latest.`),
          ),
          timeout: milliseconds(
            TOOL_TIMEOUT_MS,
            MAX_TIMEOUT_MS,
            'Time limit of each run in milliseconds; at most that of the request.',
          ),
          ...optionFields(TOOL_TABLE[name]?.options ?? []),
        },
        { description: `Versions of ${name}, and options for all of its runs. A tool that is not named does not run.` },
      ),
    ),
  );
}

const TOOL_FIELDS = Object.fromEntries(REPORT_TOOLS.map((name) => [name, versionsOf(name)])) as Record<
  ReportTool,
  ReturnType<typeof versionsOf>
>;

const RequestId = Type.String({ pattern: UUID, description: 'The id of a request.' });

const CompareSchema = closed({
  url: Type.Optional(
    nonEmpty(MAX_ADDRESS, `The source, with or without credentials. Schemes: ${SCHEMES.join(', ')}.`, {
      examples: ['https://media.example.com/film.mp4'],
    }),
  ),
  urls: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 8192 }), {
      minItems: 2,
      maxItems: 2,
      description:
        'Instead of `url`: two sources, `a` and `b`. Each tool runs at one version on both; without a tool, ' +
        'ffprobe and mediainfo do.',
      examples: [['https://media.example.com/film.mp4', 'https://media.example.com/film-2.mp4']],
    }),
  ),
  ...SOURCE_FIELDS,
  request_ids: Type.Optional(
    Type.Array(RequestId, {
      minItems: 2,
      maxItems: 2,
      uniqueItems: true,
      description: 'Instead of `url`: two requests of `/v1/probe/file` on record, whose results are compared.',
    }),
  ),
  ...TOOL_FIELDS,
  ...timeFields(
    TIMEOUT_MS,
    'Time limit of all runs together in milliseconds, counted from admission; two run at a time. Of two sources, ' +
      'the first has half of it.',
  ),
  ...webhookFields('The response is 202 at once, and the comparison is sent to this address.'),
});

const FILES = { kind: 'file', endpoint: '/v1/probe/file' } as const;
const LABELS = ['a', 'b'] as const;
const NOT_HELD = 'its output is too large to be compared on record; compare the versions in one request instead';

function refusal(id: string, { absent, why }: NoResult): ApiError {
  if (absent === 'unreadable') return inside(`${id}: ${why}`);
  const isGone = absent === 'unknown' || absent === 'expired';
  return new ApiError(isGone ? 'not-found' : 'invalid-field', {
    text: `request_ids: ${id} ${why}`,
    field: 'request_ids',
  });
}

async function compareOnRecord(deps: Deps, ctx: Context, ids: readonly [string, string]): Promise<void> {
  await takeRequestRate(deps, ctx);
  const signal = untilClosed(ctx);
  const read: StoredResult[] = [];
  using places = new DisposableStack();
  for (const id of ids) {
    const stored = await storedResult(deps, ctx, id, { only: FILES, signal });
    if ('absent' in stored) throw refusal(id, stored);
    places.use(stored.place);
    read.push(stored);
  }
  ctx.type = JSON_TYPE;
  ctx.body = await answerOf(deps, ctx, ids, read);
}

async function answerOf(
  { work }: Pick<Deps, 'work'>,
  ctx: Context,
  ids: readonly string[],
  read: readonly StoredResult[],
): Promise<string> {
  const ran = read.flatMap(({ result, texts }, at) =>
    result.tools.flatMap((stored) => {
      const tool = REPORT_TOOLS.find((name) => name === stored.name);
      // Long outputs are not read into memory: what is compared is parsed whole.
      const text = stored.output && texts.get(stored.output.from);
      return tool ? [{ stored, tool, label: LABELS[at]!, text }] : [];
    }),
  );
  const runs = ran.flatMap(({ stored: { version, success, format }, tool, label, text }): TextRun[] =>
    text === undefined ? [] : [{ tool, label, version, output: success && format === 'json' ? text : null }],
  );
  const notRead = ran.filter(({ text }) => text === undefined);
  const by = { account: tokenOf(ctx).rootUserId, what: 'request_ids' };
  const { fields, summary } = await work.run('compare', runs, by);
  const failed = ran.find(({ stored }) => !stored.success)?.stored;
  const both = REPORT_TOOLS.some((tool) => runs.filter((run) => run.tool === tool && run.output).length === 2);
  return JSON.stringify({
    success: both,
    ...(both ? {} : { error: 'no tool has a JSON output in both results', ...codeMember(failed) }),
    metadata: { request_ids: ids, queue_time: 0, io_usage: 0 },
    runs: ran.map(({ stored, label }) => runOf(stored, label)),
    fields,
    summary: {
      ...summary,
      not_compared: [
        ...summary.not_compared,
        ...notRead.map(({ tool, label }) => ({ tool, run: label, why: NOT_HELD })),
      ],
    },
  });
}

type Asked = Static<typeof CompareSchema>;

type AskedTools = Pick<Asked, ReportTool | 'timeout'>;

function runRequest(name: ReportTool, wanted: AskedVersions, version: ToolVersion, timeout: number): ToolRequest {
  const program = TOOL_TABLE[name]!;
  const run = toolRequest(program, wanted, version, Math.min(wanted.timeout, timeout));
  if (program.format(run.options ?? {}) !== 'json')
    throw invalid(name, 'the options ask for another format; only JSON is compared');
  return run;
}

/** One for each tool, for both sources. Without a tool, all of them. */
function runsOnBoth(asked: AskedTools, catalog: Catalog): ToolRequest[] {
  const named = REPORT_TOOLS.filter((name) => asked[name] !== undefined);
  return (named.length > 0 ? named : REPORT_TOOLS).map((name) => {
    const wanted: AskedVersions = asked[name] ?? { timeout: TOOL_TIMEOUT_MS };
    if (wanted.versions !== undefined)
      throw invalid(`${name}.versions`, `has no effect with urls: one version reads both, ${name}.version`);
    return runRequest(name, wanted, catalog.resolve(name, wanted.version ?? 'latest'), asked.timeout);
  });
}

/** One for each version of each tool, in the caller's order. */
function runsOf(asked: AskedTools, catalog: Catalog): ToolRequest[] {
  const runs = REPORT_TOOLS.flatMap((name) => {
    const wanted: AskedVersions | undefined = asked[name];
    if (!wanted) return [];
    const { versions, version: one } = wanted;
    if (one !== undefined)
      throw invalid(`${name}.version`, `has no effect with url: name at least two in ${name}.versions`);
    if (versions === undefined) throw invalid(`${name}.versions`, 'is required');
    const seen = new Map<string, string>();
    return versions.map((version): ToolRequest => {
      const resolved = catalog.resolve(name, version);
      const before = seen.get(resolved.version);
      if (before !== undefined)
        throw invalid(`${name}.versions`, `"${before}" and "${version}" are both version ${resolved.version}`);
      seen.set(resolved.version, version);
      return runRequest(name, wanted, resolved, asked.timeout);
    });
  });
  if (runs.length === 0)
    throw new ApiError('invalid-field', { text: `one of ${REPORT_TOOLS.join(', ')} is required, with its versions` });
  if (runs.length > MOST_TOOLS)
    throw new ApiError('invalid-field', { text: `versions: ${runs.length} runs in all; at most ${MOST_TOOLS}` });
  return runs;
}

const film = 'https://media.example.com/film.mp4';

const DESCRIPTION = [
  'Runs several versions of ffprobe, mediainfo or both on one source, which is read once, and tells which fields ' +
    'change from one version to the next: as the tools print them (raw), and after normalisation (canonical). ' +
    'Intended changes of a release are marked as known.',
  `At most ${MOST_TOOLS} runs, two at a time. The request takes one slot and counts as one request; \`usage\` counts ` +
    'every run.',
  'With `urls` each tool runs at one version on two sources: first on `a`, then on `b`. Deadline, output limit and ' +
    'size limit are those of one request, for both together; `a` has at most half of `timeout`. A source that fails ' +
    'leaves the runs of the other as they are.',
  'With `request_ids` two results on record are compared; nothing runs, and nothing is recorded.',
].join('\n\n');

export const compareVersions = endpoint('POST /v1/compare', {
  ...byQueryAndBody({
    id: 'compare',
    summary: 'Compare versions of the tools, or two files',
    description: DESCRIPTION,
    schema: CompareSchema,
    queryExamples: {},
    bodyExamples: {
      versions: { summary: 'Two versions of ffprobe', value: { url: film, ffprobe: { versions: ['4.4', '7.1'] } } },
      both: {
        summary: 'Both tools, with an option',
        value: {
          url: film,
          ffprobe: { versions: ['4.4', '7.1', '9.0'], show_frames: true },
          mediainfo: { versions: ['21.09', '26.10'] },
        },
      },
      files: {
        summary: 'Two files',
        value: { urls: [film, 'https://media.example.com/film-2.mp4'], ffprobe: { version: '7.1' } },
      },
      onRecord: {
        summary: 'Two requests on record',
        value: { request_ids: ['01937c5e-8a00-7000-8000-000000000001', '01937c5e-8a00-7000-8000-000000000002'] },
      },
    },
    failed: 'the first run',
    answer: { description: 'The comparison.', schema: ComparisonAnswerSchema },
  }).byBody,
  async work(deps, ctx) {
    const { request_ids: ids, ...fields } = checkedBy(CompareSchema, ctx);
    const { url, urls } = fields;
    if ([url, urls, ids].filter((given) => given !== undefined).length !== 1)
      throw new ApiError('invalid-field', { text: 'exactly one of url, urls and request_ids is required' });
    if (ids !== undefined) {
      const unused = REPORT_TOOLS.find((name) => fields[name] !== undefined);
      if (unused !== undefined)
        throw invalid(unused, 'has no effect with request_ids: results on record are compared, no tool runs');
      const sent = (['headers', 'cookies', 'credential'] as const).find((field) => fields[field]);
      if (sent !== undefined) throw invalid(sent, 'has no effect with request_ids: nothing is read');
      if (fields.webhook_url !== null)
        throw invalid('webhook_url', 'has no effect with request_ids: the answer comes at once');
      return compareOnRecord(deps, ctx, ids as [string, string]);
    }
    const tools = urls ? runsOnBoth(fields, deps.catalog()) : runsOf(fields, deps.catalog());
    const own = { kind: 'compare', tools, report: { enabled: false }, response: COMPARED } as const;
    await runProbe(deps, ctx, probeRequest(deps, ctx, fields, own));
  },
});
