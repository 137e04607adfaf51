/**
 * The form of the playground as the query of its address, and as the body that is sent: pure. `ffprobe.version=7.1`
 * is a member of a section. What has its default is in neither.
 */
import { HIDDEN, hideQuery } from '../../base/hide_query.ts';
import { isObject } from '../../base/is_object.ts';
import {
  REPORT_READERS,
  SECTION_OF_KIND,
  SECTIONS,
  type AvailableTool,
  type Calls,
  type ToolOption,
} from '../../api_types.ts';

export const ADDRESS = 'url';
const REPORT = 'probe_report.enabled';
const TIMELINE = 'timeline.enabled';

export const isOn = (query: URLSearchParams, name: string, byDefault: boolean): boolean =>
  query.has(name) ? query.get(name) === 'true' : byDefault;
export const reportIsOn = (query: URLSearchParams): boolean => isOn(query, REPORT, true);
export const timelineIsOn = (query: URLSearchParams): boolean => isOn(query, TIMELINE, false);
export const runs = (query: URLSearchParams, tool: AvailableTool): boolean =>
  isOn(query, `${tool.tool}.enabled`, tool.default);

type Value = string | number | boolean;

function valueOf({ type }: ToolOption, text: string): Value {
  if (type === 'boolean') return text === 'true';
  // What is no number is sent as it is: the API names the field and says what it accepts.
  if (type === 'integer' || type === 'number') return Number.isNaN(Number(text)) ? text : Number(text);
  return text;
}

/** Options of a tool that are set to something else than their default. */
export const setOptions = (query: URLSearchParams, { tool, options }: AvailableTool) =>
  options.flatMap((option) => {
    const text = query.get(`${tool}.${option.name}`);
    if (text === null || text === '') return [];
    const value = valueOf(option, text);
    return value === option.default ? [] : [{ option, value }];
  });

function sectionOf(query: URLSearchParams, tool: AvailableTool): Record<string, Value> {
  const on = runs(query, tool);
  const version = query.get(`${tool.tool}.version`) ?? '';
  return {
    ...(on === tool.default ? {} : { enabled: on }),
    ...(on && tool.selectable && version !== '' ? { version } : {}),
    ...(on ? Object.fromEntries(setOptions(query, tool).map(({ option, value }) => [option.name, value])) : {}),
  };
}

export type Sent = Calls['POST /v1/probe/file']['body'];
export type Body = Sent & { url: string };

export function bodyOf(url: string, query: URLSearchParams, tools: readonly AvailableTool[]): Body {
  const sections = tools
    .map((tool) => [tool.tool, sectionOf(query, tool)] as const)
    .filter(([, section]) => Object.keys(section).length > 0);
  const policy = query.get('policy') ?? '';
  return {
    url: url.trim(),
    ...Object.fromEntries(sections),
    ...(reportIsOn(query) ? {} : { probe_report: { enabled: false } }),
    ...(policy === '' ? {} : { policy }),
    ...(timelineIsOn(query) ? { timeline: { enabled: true } } : {}),
  };
}

/** A secret may have slashes, as those of S3 do. What looks like a port and a path is none. */
const USER_INFO = /^([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#]*@|(?:(?<=^s3:\/\/)|(?![^/?#:]*:\d{1,5}\/))[^/?#:]*:[^?#]*@)/i;

/** What a query has but names without a value: `a=1`, and a value without a name. */
const isSecret = (pair: string): boolean => !/^([^=]*=)?$/.test(pair);

/** User info, or values in its query: those may be signatures. */
export function hasSecrets(url: string): boolean {
  const [, query = ''] = /^[^?#]*\?([^#]*)/.exec(url.trim()) ?? [];
  return USER_INFO.test(url.trim()) || query.split('&').some(isSecret);
}

/** As the log shows it: for links. */
export const withoutSecrets = (url: string): string =>
  hideQuery(url.trim().replace(USER_INFO, '$1').replace(/#.*$/s, ''));

/** It came from a link or the log: what is missing must be entered again. */
export const isRedacted = (url: string): boolean => new RegExp(`[?&](?:[^=&]*=)?${HIDDEN}(?:&|$)`).test(url);

/** What reads the source in the name of its owner: held by the page alone, in no address and no copy. */
export interface Secrets {
  /** A line for each: `Name: value`. */
  headers: string;
  /** A line for each: `name=value`. */
  cookies: string;
  /** Of the installation, by its name. */
  credential: string;
}
export const NO_SECRETS: Secrets = { headers: '', cookies: '', credential: '' };

function pairsIn(text: string, separator: string): Record<string, string> | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const pairs = lines.map((line): [string, string] => {
    const at = line.indexOf(separator);
    // A line without a separator is sent as a name: the API says what is wrong with it.
    return at === -1 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return pairs.length === 0 ? null : Object.fromEntries(pairs);
}

export function secretsOf({ headers, cookies, credential }: Secrets): Pick<Sent, 'headers' | 'cookies' | 'credential'> {
  const [ownHeaders, ownCookies] = [pairsIn(headers, ':'), pairsIn(cookies, '=')];
  return {
    ...(ownHeaders && { headers: ownHeaders }),
    ...(ownCookies && { cookies: ownCookies }),
    ...(credential.trim() === '' ? {} : { credential: credential.trim() }),
  };
}

interface Asked {
  type: string;
  /** As the log has it: the request as JSON. */
  request: string;
  policy?: string;
}

const LATEST = 'latest';

/** A request of the log as a form: the address without its secrets, the options that it named. */
export function queryOf({ type, request, policy }: Asked): URLSearchParams {
  const { url, only, ...asked } = JSON.parse(request) as Record<string, unknown>;
  const query = new URLSearchParams({ [ADDRESS]: String(url) });
  const single = SECTION_OF_KIND[type];
  if (single !== undefined) {
    query.set(`${single}.enabled`, 'true');
    for (const [name, value] of Object.entries(asked))
      if (typeof value === 'boolean' && !name.startsWith('inject_')) query.set(`${single}.${name}`, String(value));
  }
  for (const [section, members] of Object.entries(asked)) {
    if (!isObject(members) || section === 'policy' || single !== undefined) continue;
    for (const [name, value] of Object.entries(members))
      // What `latest` stood for may have changed: the form says it by its first choice.
      if (value !== null && typeof value !== 'object' && name !== 'timeout' && value !== LATEST)
        query.set(`${section}.${name}`, String(value));
  }
  if (typeof only === 'string')
    for (const section of SECTIONS)
      // Of those that are enabled, or else of all, the report is made.
      if (only !== 'probe_report' || !REPORT_READERS.includes(section))
        query.set(`${section}.enabled`, String(section === only));
  if (policy !== undefined) query.set('policy', policy);
  return query;
}

/** Without what has its default: a link says what is different. */
export function withoutDefaults(query: URLSearchParams, tools: readonly AvailableTool[]): URLSearchParams {
  const out = new URLSearchParams(query);
  for (const tool of tools) {
    const kept = new Set(setOptions(query, tool).map(({ option }) => option.name));
    for (const { name } of tool.options) if (!kept.has(name)) out.delete(`${tool.tool}.${name}`);
    if (runs(query, tool) === tool.default) out.delete(`${tool.tool}.enabled`);
    if (query.get(`${tool.tool}.version`) === '') out.delete(`${tool.tool}.version`);
  }
  if (reportIsOn(query)) out.delete(REPORT);
  if (!timelineIsOn(query)) out.delete(TIMELINE);
  return out;
}
