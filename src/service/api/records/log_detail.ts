/** `GET media/log/{id}`: one request of the log, with its options and each tool's output. */
import { codeMember } from '../../../base/causes.ts';
import Type from 'typebox';
import { SIDES } from '../../../platform/bus/messages.ts';
import { outputsOf } from '../../../platform/bus/packing.ts';
import type { Output, ResultBody, ReportResult } from '../../../platform/bus/result_body.ts';
import { comparisonOf, JSON_TYPE, runOf } from '../../result/answer.ts';
import { addressesIn, readKeptRequest, type KeptRequest } from '../../result/kept_request.ts';
import { joined, quoted, type Piece } from '../../result/pieces.ts';
import { unpackResult } from '../../result/unpack.ts';
import { probeReport } from '../../../media/tools/probe_report.ts';
import { FILE_ROWS, RESULTS, TOOL_TABLE, type ResultName } from '../../../media/tools/table.ts';
import { callerOf, type Context, uuidOf } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { CAUSE_TEXT } from '../probe/answer_schemas.ts';
import { resultFor, sendPieces } from '../probe/stored_result.ts';
import { endpoint } from '../http/endpoint.ts';
import { component, oneOf, orNull } from '../http/request_fields.ts';
import { LOG_ROW, rowOf } from './log_endpoints.ts';
import { visibleUsers } from '../http/endpoint_access.ts';

const text = (description: string) => orNull(Type.String({ description }));
const RESPONSE =
  'The output of the tool, unchanged; absent if it did not run, printed nothing, or the result has expired.';
const TYPE = 'The format of the output: json, or the requested format.';

const kebab = (name: ResultName): string => name.replaceAll('_', '-');
const memberOf = (name: ResultName): string => `${kebab(name)}-response`;
/** Tools with an endpoint of their own only print JSON, so their type is not listed. */
const TYPED: readonly ResultName[] = FILE_ROWS.filter((row) => !('endpoint' in row)).map(({ name }) => name);

const Answer = Type.Object(
  {
    ...LOG_ROW,
    admitted: orNull(
      Type.String({
        format: 'date-time',
        description: 'When it was given a slot, and its tools started; absent if it never was.',
      }),
    ),
    ended: Type.String({ format: 'date-time', description: 'When its end was recorded.' }),
    request: Type.String({ description: 'The request as JSON, with the address as the log shows it.' }),
    'tool-errors': Type.Record(Type.String(), Type.String(), {
      description: 'By tool: why it failed. Empty if none failed, or the result has expired.',
    }),
    'tool-error-codes': Type.Record(Type.String(), Type.String(), {
      description: `By tool that failed: the code of its error. ${CAUSE_TEXT}`,
    }),
    'tool-exit-codes': Type.Record(Type.String(), Type.Integer(), {
      description: 'By tool that failed: its exit code, as a shell reports it. Absent for one that was not started.',
    }),
    ...Object.fromEntries(
      RESULTS.flatMap((name) => [
        [memberOf(name), text(RESPONSE)],
        ...(TYPED.includes(name) ? [[`${memberOf(name)}-type`, text(TYPE)]] : []),
      ]),
    ),
    'policy-response': text('The verdict as JSON; absent if no policy was requested, or the result has expired.'),
    'run-responses': orNull(
      Type.Array(
        component('LoggedRun', {
          tool: Type.String(),
          version: Type.String(),
          side: Type.Optional(oneOf(SIDES, { description: 'Of two sources: which of them the tool read.' })),
          response: text(RESPONSE),
        }),
        {
          description: 'Of a request to `/v1/compare`: the output of each run. The members of single tools are absent.',
        },
      ),
    ),
    'comparison-response': text(
      'Of a request to `/v1/compare`: `runs`, `fields` and `summary` of its answer as JSON; absent for others, or ' +
        'if the result has expired.',
    ),
  },
  { title: 'LoggedRequest' },
);

type Options = KeptRequest['options'];

function formatOf(tool: ReportResult, asked: Options): string | null {
  if (tool.output === null) return null;
  if (tool.format === 'json') return 'json';
  const options = asked[tool.name] as Record<string, unknown> | undefined;
  const formats = tool.name === probeReport.name ? undefined : TOOL_TABLE[tool.name]?.formats;
  return options && formats ? formats.of(options) : 'text';
}

/** Includes a failed report and tools that ran only for it: the log records what happened. */
function responsesOf(result: ResultBody | null, options: Options): Record<string, Output | string | null> {
  const tools = new Map<ResultName, ReportResult>(result?.tools.map((tool) => [tool.name, tool]));
  if (result?.report) tools.set(probeReport.name, result.report);
  const members = RESULTS.flatMap((name) => {
    const tool = tools.get(name);
    const response: [string, Output | null] = [memberOf(name), tool?.output ?? null];
    if (!TYPED.includes(name)) return [response];
    return [
      response,
      [`${memberOf(name)}-type`, tool ? formatOf(tool, options) : null] satisfies [string, string | null],
    ];
  });
  return Object.fromEntries(members);
}

/** In a comparison each run tells its own. */
function failuresOf(result: ResultBody | null) {
  const results: ReportResult[] = [...(result?.tools ?? []), ...(result?.report ? [result.report] : [])];
  const failed = results.filter(({ error }) => error !== undefined);
  return {
    'tool-errors': Object.fromEntries(failed.map(({ name, error }) => [kebab(name), error])),
    'tool-error-codes': Object.fromEntries(
      failed.flatMap((tool) => Object.values(codeMember(tool)).map((code) => [kebab(tool.name), code])),
    ),
    'tool-exit-codes': Object.fromEntries(
      failed.flatMap(({ name, exitCode }) => (exitCode === null ? [] : [[kebab(name), exitCode]])),
    ),
  };
}

/** A comparison has an output for each version of a tool, or for each source. */
const runResponsesOf = ({ tools }: ResultBody) =>
  tools.map(({ name, version, side, output }) => ({
    tool: name,
    version,
    ...(side === undefined ? {} : { side }),
    response: output,
  }));

/** As the request named them. */
function addressOf(display: string): { url: string } | { urls: string[] } {
  const urls = addressesIn(display);
  return urls.length === 2 ? { urls } : { url: display };
}

/** As JSON text, in which an output is a string, and a field without a value is left out. */
function textOf(value: unknown, outputs: ReadonlySet<unknown>): Piece[] {
  if (outputs.has(value)) return quoted(value as Output);
  if (Array.isArray(value)) return ['[', ...separated(value.map((item) => textOf(item, outputs))), ']'];
  if (typeof value === 'object' && value !== null)
    return [
      '{',
      ...separated(
        Object.entries(value).flatMap(([name, member]) =>
          member === null ? [] : [[`${JSON.stringify(name)}:`, ...textOf(member, outputs)]],
        ),
      ),
      '}',
    ];
  return [JSON.stringify(value)];
}

const separated = (items: readonly Piece[][]): Piece[] =>
  items.flatMap((item, index) => (index === 0 ? item : [',', ...item]));

async function read(deps: Deps, ctx: Context): Promise<void> {
  const row = await deps.store.readLog(uuidOf(ctx), (await visibleUsers(deps, callerOf(ctx))) ?? 'everyone');
  if (!row) throw notFound();
  // The log is kept longer than the results.
  const stored = row.hasBody ? await resultFor(deps, ctx, row, unpackResult) : null;
  const { result, outputs } = stored?.value ?? { result: null, outputs: null };
  const { options } = readKeptRequest(row);
  const compared = row.kind === 'compare' ? result : null;
  const members = {
    ...rowOf(row),
    admitted: row.startedAt?.toISOString() ?? null,
    ended: row.endedAt.toISOString(),
    request: JSON.stringify({ ...addressOf(row.display), ...options }),
    ...failuresOf(compared ? null : result),
    ...responsesOf(compared ? null : result, options),
    'policy-response': result?.policy ? JSON.stringify(result.policy) : null,
    'run-responses': compared && runResponsesOf(compared),
    'comparison-response':
      compared && JSON.stringify({ runs: compared.tools.map((tool) => runOf(tool)), ...comparisonOf(compared) }),
  };
  const named = new Set<unknown>(result ? outputsOf(result).map(({ output }) => output) : []);
  sendPieces(ctx, joined(textOf(members, named), outputs), stored?.packed ?? Buffer.alloc(0), JSON_TYPE);
}

export const logDetail = endpoint(
  'GET media/log/:id',
  {
    id: 'readLog',
    summary: 'Read a request of the log',
    also: [404],
    params: { id: Type.String({ format: 'uuid', description: 'The request id.' }) },
    description: 'Results expire before the log does; their responses are absent afterwards.',
    answer: { description: 'The request and its results.', schema: Answer },
  },
  read,
);
