/** Tools that read what is on record, and the one that cancels a request. */
import Type from 'typebox';
import { invalid } from '../../errors.ts';
import { choice } from '../../http/request_fields.ts';
import { FENCED, type Said } from '../answer_text.ts';
import { membersOf, valueOf } from './result_summary.ts';
import { tool, Uuid } from './mcp_tool.ts';

const PARTS = ['result', 'policy', 'timeline', 'log'] as const;

const LONGEST_WAIT_S = 40;

export const getResult = tool({
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
      default: 20,
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
  lead: [`request_id: ${id}`, 'The request has not ended: call get_result again, or cancel_request.'],
  data: membersOf(standing),
});

export const cancelRequest = tool({
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

export const listCapabilities = tool({
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
    if (policy !== undefined) {
      const path = policy.split('/').map(encodeURIComponent).join('/');
      return { answer: await calls.ask('GET', `/v1/policy/${path}`), shape: { of: 'all' } };
    }
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
        checks: ['file', 'hls', 'c2pa'],
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

export const getUsageStats = tool({
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

export const getRequestLogs = tool({
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
