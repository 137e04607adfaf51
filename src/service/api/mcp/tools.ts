/** The tools, but for search: those that read a source, read what is on record, cancel, and run batches. */
import Type, { type Static, type TObject, type TProperties } from 'typebox';
import { membersOf } from '../../../base/is_object.ts';
import { MAX_TIMEOUT_MS } from '../../../base/limits.ts';
import { LONGEST_S } from '../../../media/qc/limits.ts';
import { LONGEST, optionsFor, type Limited } from '../../../media/qc/verdict.ts';
import { NOUNS } from '../../../media/qc/words.ts';
import { ApiError, invalid } from '../errors.ts';
import { choice, closed, UUID } from '../http/request_fields.ts';
import { FENCED, type Said, DEFAULT_BYTES, LEAST_BYTES, LONGEST_BYTES } from './answer_text.ts';
import type { Answer, Running, Calls } from './calls.ts';
import { type Shape, valueOf } from './result_summary.ts';
import { makeReader } from '../http/input/read_fields.ts';

// What a tool is: the list, the check of its arguments and its work read the same declaration.

/** `running`: the request goes on, under this id. */
type Outcome = Said | { running: string } | { answer: Answer; shape: Shape };

export interface Tool {
  name: string;
  title: string;
  description: string;
  inputSchema: object;
  annotations: { readOnlyHint: boolean; openWorldHint: boolean; destructiveHint?: boolean; idempotentHint?: boolean };
  run(calls: Calls, args: unknown): Promise<{ outcome: Outcome; mostBytes: number }>;
}

const MaxBytes = Type.Integer({
  minimum: LEAST_BYTES,
  maximum: LONGEST_BYTES,
  default: DEFAULT_BYTES,
  description: 'Size limit of the answer. Many clients cut longer ones.',
});

const Url = Type.String({
  minLength: 1,
  maxLength: 8192,
  description: 'Address of a file, playlist or stream: https, s3, ftp, rtmp, rtsp, srt and others.',
});

const Uuid = Type.String({ pattern: UUID, description: 'The request_id of an earlier answer.' });

interface Declared<P extends TProperties> extends Pick<Tool, 'name' | 'title' | 'description'> {
  fields: P;
  /** Changes nothing but the log. */
  readOnly?: boolean;
  /** Each call makes one more, and changes nothing that was there. */
  creates?: boolean;
  /** Reads sources on other hosts. */
  openWorld?: boolean;
  run(calls: Calls, args: Static<TObject<P>>): Promise<Outcome>;
}

/** What has a default may be left out. Clients that validate arguments would not send such a call. */
function forCallers({ required, ...schema }: TObject): object {
  const needed = required.filter((name) => !('default' in schema.properties[name]!));
  return { ...schema, ...(needed.length === 0 ? {} : { required: needed }) };
}

export function tool<const P extends TProperties>({
  fields,
  readOnly = true,
  creates = false,
  openWorld = false,
  run,
  ...named
}: Declared<P>): Tool {
  const inputSchema = closed({ ...fields, max_bytes: MaxBytes });
  const read = makeReader<Static<TObject<P>> & { max_bytes: number }>(inputSchema);
  return {
    ...named,
    inputSchema: forCallers(inputSchema),
    annotations: {
      readOnlyHint: readOnly,
      openWorldHint: openWorld,
      ...(readOnly ? {} : { destructiveHint: !creates, idempotentHint: !creates }),
    },
    async run(calls, given) {
      const { max_bytes: mostBytes, ...args } = read({ form: 'json', value: given ?? {} });
      return { outcome: await run(calls, args as unknown as Static<TObject<P>>), mostBytes };
    },
  };
}

const section = (name: string, example: string) =>
  Type.Optional(
    Type.Object({}, { additionalProperties: true, description: `Options of ${name}, such as ${example}.` }),
  );
const PolicyGiven = Type.Unsafe<string | object>({
  anyOf: [
    { type: 'string', minLength: 1, maxLength: 64_000 },
    { type: 'object', additionalProperties: true },
  ],
  description: 'Name of a policy (list_capabilities names them), or a policy as an object: {"rules": [...]}.',
});
const Timeout = Type.Optional(
  Type.Integer({ minimum: 1, description: 'Time limit of the analysis in milliseconds. Default: 65000.' }),
);

const WAIT_S = 20;

const CHECKS = ['file', 'hls', 'c2pa'] as const;
const PATHS: Record<(typeof CHECKS)[number], string> = {
  file: '/v1/probe/file',
  hls: '/v1/probe/mediastreamvalidator',
  c2pa: '/v1/probe/c2pa',
};

const said = (answer: Answer | Running, shape: Shape): Outcome => ('running' in answer ? answer : { answer, shape });

const analyzeMediaFile = tool({
  name: 'analyze_media_file',
  title: 'Analyze a media file or stream',
  description:
    'Runs ffprobe and mediainfo on a source and answers with one report of both: container, streams, where the tools ' +
    'disagree and which one is right. With qc {"enabled": true} and a longer timeout it also decodes the source: ' +
    'black, freezes, silence, loudness, peaks. check "hls" validates an HLS playlist, "c2pa" reads content ' +
    'credentials. ' +
    `The raw outputs are read afterwards with get_result. ${FENCED}`,
  fields: {
    url: Url,
    check: choice(CHECKS, 'file', 'What to run.'),
    ffprobe: section('ffprobe', '{"version": "7.1", "show_chapters": true}'),
    mediainfo: section('mediainfo', '{"version": "26.10"}'),
    qc: section('the content checks', '{"enabled": true, "silence_min": 1}'),
    policy: Type.Optional(PolicyGiven),
    fields: Type.Array(Type.String({ minLength: 1, maxLength: 500 }), {
      default: [],
      maxItems: 30,
      description: 'Only these parts of the result, such as "probe_report.response.container.duration".',
    }),
    timeout: Timeout,
  },
  openWorld: true,
  async run(calls, { url, check, ffprobe, mediainfo, qc, policy, fields, timeout }) {
    const options = { ffprobe, mediainfo, qc };
    const unused = check === 'file' ? undefined : Object.entries(options).find(([, given]) => given !== undefined);
    if (unused) throw invalid(unused[0], `has no effect with check "${check}"`);
    const form = check === 'file' ? options : { inject_output: false, inject_json: true };
    const shape: Shape = fields.length === 0 ? { of: 'summary' } : { of: 'parts', paths: fields };
    return said(await calls.submit(PATHS[check], { url, ...form, policy, timeout }), shape);
  },
});

const compareMedia = tool({
  name: 'compare_media',
  title: 'Compare versions of a tool, or two files',
  description:
    'Says which fields change: between versions of ffprobe or mediainfo on one source (url with ' +
    'ffprobe {"versions": ["4.4", "7.1"]}), between two sources (urls), or between two results on record ' +
    `(request_ids). Exactly one of url, urls and request_ids. ${FENCED}`,
  fields: {
    url: Type.Optional(Url),
    urls: Type.Optional(Type.Array(Url, { minItems: 2, maxItems: 2, description: 'Two sources: a, then b.' })),
    request_ids: Type.Optional(Type.Array(Uuid, { minItems: 2, maxItems: 2, description: 'Two results on record.' })),
    ffprobe: section('ffprobe', '{"versions": ["4.4", "7.1"]}'),
    mediainfo: section('mediainfo', '{"versions": ["21.09", "26.10"]}'),
    timeout: Timeout,
  },
  openWorld: true,
  async run(calls, args) {
    return said(await calls.submit('/v1/compare', args), { of: 'summary' });
  },
});

const longest = (check: Limited) =>
  Type.Number({
    minimum: 0,
    maximum: LONGEST_S,
    default: LONGEST[check],
    description: `Block a longer ${NOUNS[check]}, in seconds.`,
  });

const checkMedia = tool({
  name: 'check_media',
  title: 'Check the content of a media file',
  description:
    'Decodes a whole source and says whether its pictures and sound are fit to go on: pass; warn, with findings; or ' +
    'block, if a black, frozen, silent or out-of-phase passage is longer than its limit, or decoding failed or did ' +
    `not reach the end. Takes minutes for a film: later give the request_id instead of the url. ${FENCED}`,
  fields: {
    url: Type.Optional(Url),
    request_id: Type.Optional(Uuid),
    longest_black: longest('black'),
    longest_freeze: longest('freeze'),
    longest_silence: longest('silence'),
    longest_phase: longest('phase'),
    integrity: Type.Boolean({
      default: false,
      description: 'Block decode errors and wrong checksums, too. Takes three times as long.',
    }),
    timeout: Type.Optional(
      Type.Integer({ minimum: 1, description: `Time limit in milliseconds. Default: ${MAX_TIMEOUT_MS}.` }),
    ),
  },
  openWorld: true,
  async run(calls, { url, request_id: id, timeout, integrity, ...limits }) {
    if ((url === undefined) === (id === undefined))
      throw new ApiError('invalid-field', { text: 'exactly one of url and request_id is required' });
    const { longest_black: black, longest_freeze: freeze, longest_silence: silence, longest_phase: phase } = limits;
    const shape: Shape = { of: 'qc', longest: { black, freeze, silence, phase } };
    const qc = { ...optionsFor(shape.longest), ...(integrity ? { integrity } : {}) };
    if (url !== undefined) return said(await calls.submit('/v1/probe/qc', { url, timeout, qc }), shape);
    const answer = await calls.readBack(id!, WAIT_S * 1_000);
    return answer.status === 202 ? stillRunning(id!, valueOf(answer)) : { answer, shape };
  },
});

const policyPath = (name: string): string => `/v1/policy/${name.split('/').map(encodeURIComponent).join('/')}`;

const checkPolicy = tool({
  name: 'check_policy',
  title: 'Judge media by a policy',
  description:
    'Says whether a source (url) or results on record (request_ids) pass a policy, and why not: each rule that did ' +
    'not pass, with what was found and what it asks for. Outcomes: pass, warn, fail, not-applicable, and unknown, ' +
    `which is no pass. ${FENCED}`,
  fields: {
    policy: PolicyGiven,
    url: Type.Optional(Url),
    request_ids: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: 100, description: 'Results on record.' })),
    timeout: Timeout,
  },
  openWorld: true,
  async run(calls, { policy, url, request_ids: ids, timeout }) {
    if ((url === undefined) === (ids === undefined))
      throw new ApiError('invalid-field', { text: 'exactly one of url and request_ids is required' });
    if (url !== undefined) return said(await calls.submit(PATHS.file, { url, policy, timeout }), { of: 'verdict' });
    if (timeout !== undefined) throw invalid('timeout', 'has no effect with request_ids: no tool runs');
    const [name, inline] = typeof policy === 'string' ? [policy, {}] : ['inline', { policy: JSON.stringify(policy) }];
    const answer = await calls.ask('POST', `${policyPath(name)}/evaluate`, { request_ids: ids, ...inline });
    return { answer, shape: { of: 'evaluation' } };
  },
});

const PARTS = ['result', 'policy', 'timeline', 'log'] as const;

const LONGEST_WAIT_S = 40;

const getResult = tool({
  name: 'get_result',
  title: 'Read a result or a part of it',
  description:
    'Reads the result of an earlier request, a part of it by its path, or waits for a request that still runs. ' +
    `"log" says what is on record of a request that failed. ${FENCED}`,
  fields: {
    request_id: Uuid,
    part: choice(PARTS, 'result', 'What to read of the request.'),
    path: Type.String({
      default: '',
      maxLength: 500,
      description: 'Such as "ffprobe.response.streams[0]"; names with dots as ["a.b"]. Default: a summary.',
    }),
    offset: Type.Integer({
      minimum: 0,
      default: 0,
      description: 'Of a list or text: begin there. left_out says how to go on.',
    }),
    wait: Type.Integer({
      minimum: 0,
      maximum: LONGEST_WAIT_S,
      default: WAIT_S,
      description: 'Seconds to wait for the end of a request that runs.',
    }),
  },
  async run(calls, { request_id: id, part: wanted, path, offset, wait }) {
    const paths: Record<(typeof PARTS)[number], string> = {
      result: `/v1/probe/${id}`,
      policy: `/v1/probe/${id}/policy`,
      timeline: `/v1/probe/${id}/timeline`,
      log: `/frontend/api/v1/media/log/${id}`,
    };
    const answer = wanted === 'result' ? await calls.readBack(id, wait * 1_000) : await calls.ask('GET', paths[wanted]);
    if (answer.status === 202) return stillRunning(id, valueOf(answer));
    const isSummary = path === '' && offset === 0 && wanted === 'result';
    return { answer, shape: isSummary ? { of: 'summary', at: '' } : { of: 'part', path, offset, id } };
  },
});

const stillRunning = (id: string, standing: unknown): Said => ({
  lead: [`request_id: ${id}`, 'The request has not ended: call this tool again, or cancel_request.'],
  data: membersOf(standing),
});

const cancelRequest = tool({
  name: 'cancel_request',
  title: 'Cancel a request',
  description: 'Ends a request that waits or runs. Closing the connection of a running call does the same.',
  fields: { request_id: Uuid },
  readOnly: false,
  async run(calls, { request_id: id }) {
    await calls.ask('POST', `/v1/probe/${id}/cancel`, {});
    return { lead: [`request_id: ${id}`, 'The request is being cancelled.'] };
  },
});

const listCapabilities = tool({
  name: 'list_capabilities',
  title: 'List tool versions and policies',
  description:
    'The versions of each tool that can run, and the policies that a file can be judged by. With tool: its options. ' +
    'With policy: its rules.',
  fields: {
    tool: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Such as ffprobe.' })),
    policy: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Such as shared/web-mp4.' })),
  },
  async run(calls, { tool: name, policy }) {
    if (policy !== undefined) return { answer: await calls.ask('GET', policyPath(policy)), shape: { of: 'all' } };
    const { tools } = valueOf(await calls.ask('GET', '/v1/versions')) as { tools: Record<string, unknown>[] };
    if (name !== undefined) {
      const found = tools.find((one) => one['tool'] === name);
      if (!found) throw invalid('tool', `must be one of ${tools.map((one) => String(one['tool'])).join(', ')}`);
      return { lead: [], data: found };
    }
    const policies = await calls.ask('GET', '/v1/policy');
    return {
      lead: [],
      data: {
        checks: CHECKS,
        tools: tools.map(({ tool: of, latest, help, versions }) => ({
          tool: of,
          latest,
          help,
          versions: (versions as { version: string }[]).map(({ version }) => version),
        })),
        ...membersOf(valueOf(policies)),
      },
      more: 'Name a tool or a policy to see it whole.',
    };
  },
});

const Period = {
  from: Type.Optional(Type.String({ maxLength: 40, description: 'Start: 2026-11-01 or 2026-11-01T10:00:00Z.' })),
  to: Type.Optional(Type.String({ maxLength: 40, description: 'End, exclusive. Default: now.' })),
};

/** Nested names in brackets, lists by repetition. */
function query(fields: Record<string, string | number | undefined>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return given.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`).join('&');
}

const getUsageStats = tool({
  name: 'get_usage_stats',
  title: 'Read usage',
  description:
    'Figures of the caller over time: usage (processing and queue time in ms, bytes read), requests (by kind and ' +
    'outcome), queue (times), sources (by scheme).',
  fields: {
    statistic: choice(['usage', 'requests', 'queue', 'sources'], 'usage', 'Which figures.'),
    ...Period,
    aggregation: Type.String({
      default: 'daily',
      maxLength: 40,
      description: 'secondly, minutely, hourly, daily, weekly, monthly, yearly or no-aggregation.',
    }),
  },
  async run(calls, { statistic, from, to, aggregation }) {
    const asked = query({ aggregation, 'date[from]': from, 'date[to]': to });
    const answer = await calls.ask('GET', `/frontend/api/v1/statistics/${statistic}?${asked}`);
    return { answer, shape: { of: 'all', more: 'Ask for a shorter time or a wider aggregation.' } };
  },
});

const getRequestLogs = tool({
  name: 'get_request_logs',
  title: 'List earlier requests',
  description: `Earlier requests, newest first, with their outcome. Default: the last 24 hours. ${FENCED}`,
  fields: {
    ...Period,
    url: Type.Optional(Type.String({ maxLength: 8192, description: 'Part of the address.' })),
    status: Type.Optional(Type.String({ maxLength: 20, description: 'success, with-errors or error.' })),
    policy_status: Type.Optional(
      Type.String({ maxLength: 20, description: 'pass, warn, fail, unknown, not-applicable or skipped.' }),
    ),
    policy: Type.Optional(Type.String({ maxLength: 200, description: 'Judged by this policy.' })),
    page: Type.Integer({ minimum: 1, default: 1, maximum: 1_000_000, description: 'Page number, from 1.' }),
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Rows of a page.' }),
  },
  async run(calls, { from, to, url, status, policy_status: policyStatus, policy, page, limit }) {
    const asked = query({
      'send[from]': from,
      'send[to]': to,
      url,
      status,
      'status-policy': policyStatus,
      policy,
      'pagination[page]': page,
      'pagination[limit]': limit,
    });
    const answer = await calls.ask('GET', `/frontend/api/v1/media/log?${asked}`);
    const more = 'Ask for the next page, or for fewer rows.';
    return { answer, shape: { of: 'all', more, without: ['filter', 'sort'] } };
  },
});

/** In the order in which clients list them. */
export const REQUEST_TOOLS: readonly Tool[] = [
  analyzeMediaFile,
  checkMedia,
  compareMedia,
  checkPolicy,
  getResult,
  listCapabilities,
  getUsageStats,
  getRequestLogs,
  cancelRequest,
];

// Tools of batches and sources: one creates a batch, one reads how far it is and what failed.

/** A model writes each of them. */
const MOST_ITEMS = 1_000;
const MOST_FAILED = 20;

const Budget = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Stop after this many requests. Default: none.' }),
);

const Probe = Type.Object(
  {},
  {
    additionalProperties: true,
    default: {},
    description: 'What to run on each: {"policy": "shared/web-mp4", "ffprobe": {"version": "7.1"}}.',
  },
);
const Name = Type.Optional(Type.String({ maxLength: 200, description: 'A name for people.' }));

const createBatch = tool({
  name: 'create_batch',
  title: 'Probe many files',
  description:
    'Analyzes a list of sources by one template, in the background, with retries: for more than a few files. Answers ' +
    'at once with a batch_id for read_batch. All items are accepted or none. Longer lists, and whole buckets: ' +
    'POST /v1/batch.',
  fields: {
    items: Type.Array(Url, { minItems: 1, maxItems: MOST_ITEMS, description: 'The sources.' }),
    name: Name,
    probe: Probe,
    max_requests: Budget,
  },
  readOnly: false,
  creates: true,
  openWorld: true,
  async run(calls, args) {
    const { id, items, rate } = membersOf(valueOf(await calls.ask('POST', '/v1/batch', args)));
    const what = `${String(items)} items, at most ${String(rate)} requests a minute`;
    return { lead: [`batch_id: ${String(id)}`, `The batch has begun: ${what}. Read it with read_batch.`] };
  },
});

const readBatch = tool({
  name: 'read_batch',
  title: 'Read a batch',
  description:
    'Says how far a batch is: its state, items by state, errors by code, its files by container, codecs, HDR and ' +
    'rules that did not pass, when it will end, and the first items that failed. ' +
    `get_result reads the result of an item by its request_id. ${FENCED}`,
  fields: {
    batch_id: Type.String({ pattern: UUID, description: 'Of create_batch.' }),
    failed: Type.Integer({ minimum: 1, maximum: MOST_FAILED, default: 10, description: 'Failed items, at most.' }),
  },
  async run(calls, { batch_id: id, failed: most }) {
    const [batch, failed] = await Promise.all([
      calls.ask('GET', `/v1/batch/${id}`),
      calls.ask('GET', `/v1/batch/${id}/items?state=error&limit=${most}`),
    ]);
    const { probe: _template, id: _id, ...progress } = membersOf(valueOf(batch));
    return {
      lead: [`batch_id: ${id}`, `The state of the batch: ${String(progress['state'])}.`],
      data: { ...progress, failed_items: membersOf(valueOf(failed))['items'] },
      more: 'GET /v1/batch/{id}/results has all items.',
    };
  },
});

const Patterns = Type.Array(Type.String({ minLength: 1, maxLength: 500 }), {
  default: [],
  maxItems: 100,
  description: 'Only names that fit one of these: "*.mp4".',
});

const createSource = tool({
  name: 'create_source',
  title: 'Probe what comes into a bucket',
  description:
    'Lists a bucket now and on a schedule, and probes each new version of an object once, in batches. Goes on until ' +
    'it is deleted. Answers at once with a source_id for read_source. All fields: POST /v1/source.',
  fields: {
    url: Type.String({ minLength: 1, maxLength: 8192, description: 's3://BUCKET/PREFIX; gs and az are read, too.' }),
    include: Patterns,
    name: Name,
    probe: { ...Probe, description: 'What to run on each, and the name of a credential: {"credential": "films"}.' },
    every: Type.Optional(Type.Integer({ minimum: 60, maximum: 604_800, description: 'Seconds between two listings.' })),
    existing: Type.Boolean({ default: true, description: 'Whether objects that are there already are probed.' }),
    max_requests: Budget,
  },
  readOnly: false,
  creates: true,
  openWorld: true,
  async run(calls, { url, include, ...args }) {
    const sent = { ...args, bucket: { url, include } };
    const { id, next_listing_at: next } = membersOf(valueOf(await calls.ask('POST', '/v1/source', sent)));
    return {
      lead: [
        `source_id: ${String(id)}`,
        next === null ? 'The source waits for events.' : 'The source is listed. Read it with read_source.',
        // A key is a secret, and what a model reads is kept elsewhere.
        `POST /v1/source/${String(id)}/key makes the key with which its bucket can send events.`,
      ],
    };
  },
});

const readSource = tool({
  name: 'read_source',
  title: 'Read sources',
  description:
    'Says how a source stands: its state, its last listing with its error, its objects and events, and its newest ' +
    `batches, for read_batch. Without source_id: the sources of the caller. ${FENCED}`,
  fields: { source_id: Type.Optional(Type.String({ pattern: UUID, description: 'Of create_source.' })) },
  async run(calls, { source_id: id }) {
    if (id === undefined) return { answer: await calls.ask('GET', '/v1/source?limit=100'), shape: { of: 'all' } };
    const [source, batches] = await Promise.all([
      calls.ask('GET', `/v1/source/${id}`),
      calls.ask('GET', `/v1/batch?source=${id}&limit=${SHOWN_BATCHES}`),
    ]);
    const { request: _request, id: _id, ...standing } = membersOf(valueOf(source));
    return {
      lead: [`source_id: ${id}`, `The state of the source: ${String(standing['state'])}.`],
      data: { ...standing, batches: membersOf(valueOf(batches))['batches'] },
      more: `GET /v1/batch?source=${id} has all batches.`,
    };
  },
});
const SHOWN_BATCHES = 5;

export const BATCH_TOOLS: readonly Tool[] = [createBatch, readBatch, createSource, readSource];
