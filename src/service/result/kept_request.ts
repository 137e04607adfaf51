/** What the record stores of a request in addition to its address. */
import { CACHED, type RecordedKind } from '../../platform/kube/probe_job.ts';
import { FILE_TOOLS, TOOL_TABLE } from '../../media/tools/table.ts';
import { COMPARED, type ResponseForm } from './answer.ts';
import type { NamedPolicy } from './verdict.ts';

export interface KeptRequest {
  /** The caller's options without addresses, shown in the log. */
  options: Record<string, unknown>;
  /** The form in which the result is returned later: always enveloped. */
  response: ResponseForm;
}

/** No address has a line break, so that the stored addresses of two sources can be told apart. */
const BETWEEN = '\n';
export const joinedAddresses = (shown: readonly string[]): string => shown.join(BETWEEN);
export const addressesIn = (display: string): string[] => display.split(BETWEEN);

/** Stored separately, because requests that were not opened by the API have a policy too. */
interface WithPolicy {
  policy?: NamedPolicy | null;
}

export function keptRequest(options: object, form: ResponseForm): KeptRequest & WithPolicy {
  const { bareType: _, policy, ...response } = { ...form, injectOutput: false };
  return {
    options: { ...options },
    response,
    ...(policy ? { policy: { name: policy.name, revision: policy.revision } } : {}),
  };
}

/** Everything is shown. */
function wholeForm(kind: RecordedKind): ResponseForm {
  if (kind === 'compare') return COMPARED;
  if (kind === 'file' || kind === CACHED) return { injectOutput: false, shown: FILE_TOOLS, injectJson: false };
  return {
    injectOutput: false,
    injectJson: TOOL_TABLE[kind]?.endpoint?.injectJson ?? false,
    shown: [],
    single: kind,
  };
}

/** A request that was not opened by the API (kubectl) has no form. */
export function readKeptRequest({ kind, request }: { kind: RecordedKind; request: unknown }): KeptRequest {
  const { options = {}, response = wholeForm(kind), policy } = (request ?? {}) as Partial<KeptRequest> & WithPolicy;
  return { options, response: policy ? { ...response, policy } : response };
}

/** The span that a webhook of the request goes on from. */
export function keptTrace(request: unknown): string | undefined {
  const { trace } = (request ?? {}) as { trace?: unknown };
  return typeof trace === 'string' ? trace : undefined;
}
