/** Tools that read a source: analyze_media_file, compare_media, check_policy. */
import Type from 'typebox';
import { ApiError, invalid } from '../../errors.ts';
import { choice } from '../../http/request_fields.ts';
import { FENCED } from '../answer_text.ts';
import type { Answer, Running } from '../calls.ts';
import type { Shape } from './result_summary.ts';
import { tool, Uuid, type Outcome } from './mcp_tool.ts';

const Url = Type.String({
  minLength: 1,
  maxLength: 8192,
  description: 'Address of a file, playlist or stream: https, s3, ftp, rtmp, rtsp, srt and others.',
});
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

const CHECKS = ['file', 'hls', 'c2pa'] as const;
const PATHS: Record<(typeof CHECKS)[number], string> = {
  file: '/v1/probe/file',
  hls: '/v1/probe/mediastreamvalidator',
  c2pa: '/v1/probe/c2pa',
};

const said = (answer: Answer | Running, shape: Shape): Outcome => ('running' in answer ? answer : { answer, shape });

export const analyzeMediaFile = tool({
  name: 'analyze_media_file',
  title: 'Analyze a media file or stream',
  description:
    'Runs ffprobe and mediainfo on a source and answers with one report of both: container, streams, where the tools ' +
    'disagree and which one is right. check "hls" validates an HLS playlist, "c2pa" reads content credentials. ' +
    `The raw outputs are read afterwards with get_result. ${FENCED}`,
  fields: {
    url: Url,
    check: choice(CHECKS, 'file', 'What to run.'),
    ffprobe: section('ffprobe', '{"version": "7.1", "show_chapters": true}'),
    mediainfo: section('mediainfo', '{"version": "26.10"}'),
    policy: Type.Optional(PolicyGiven),
    fields: Type.Array(Type.String({ minLength: 1, maxLength: 500 }), {
      default: [],
      maxItems: 30,
      description: 'Only these parts of the result, such as "probe_report.response.container.duration".',
    }),
    timeout: Timeout,
  },
  openWorld: true,
  async run(calls, { url, check, ffprobe, mediainfo, policy, fields, timeout }) {
    const options = { ffprobe, mediainfo };
    const unused = check === 'file' ? undefined : Object.entries(options).find(([, given]) => given !== undefined);
    if (unused) throw invalid(unused[0], `has no effect with check "${check}"`);
    const body = {
      url,
      ...(check === 'file'
        ? { ...(ffprobe && { ffprobe }), ...(mediainfo && { mediainfo }) }
        : { inject_output: false, inject_json: true }),
      ...(policy === undefined ? {} : { policy }),
      ...(timeout === undefined ? {} : { timeout }),
    };
    const shape: Shape = fields.length === 0 ? { of: 'summary' } : { of: 'parts', paths: fields };
    return said(await calls.submit(PATHS[check], body), shape);
  },
});

export const compareMedia = tool({
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
    const body = Object.fromEntries(Object.entries(args).filter(([, given]) => given !== undefined));
    return said(await calls.submit('/v1/compare', body), { of: 'summary' });
  },
});

const policyPath = (name: string): string => `/v1/policy/${name.split('/').map(encodeURIComponent).join('/')}/evaluate`;

export const checkPolicy = tool({
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
    if (url !== undefined)
      return said(await calls.submit(PATHS.file, { url, policy, ...(timeout === undefined ? {} : { timeout }) }), {
        of: 'verdict',
      });
    if (timeout !== undefined) throw invalid('timeout', 'has no effect with request_ids: no tool runs');
    const answer =
      typeof policy === 'string'
        ? await calls.ask('POST', policyPath(policy), { request_ids: ids })
        : await calls.ask('POST', policyPath('inline'), { request_ids: ids, policy: JSON.stringify(policy) });
    return { answer, shape: { of: 'evaluation' } };
  },
});
