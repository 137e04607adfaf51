/** What the record stores of a request in addition to its address. */
import type { Kind } from '../../platform/kube/probe_job.ts';
import { FILE_TOOLS, TOOL_TABLE, type FileTool, type ToolName } from '../../media/tools/table.ts';
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

/** Before 0.2, options were at the top level, mixed with internal members. */
interface PreviousForm extends Record<string, unknown> {
  asked?: { name: ToolName }[];
  shown?: readonly FileTool[];
  single?: string;
  inject_json?: boolean;
}

/** Includes what replicas of the previous version need, until none can run beside this one. */
export function keptRequest(
  options: object,
  form: ResponseForm,
  tools: readonly { name: ToolName }[],
): KeptRequest & PreviousForm & WithPolicy {
  const { bareType: _, policy, ...response } = { ...form, injectOutput: false };
  return {
    options: { ...options },
    response,
    asked: tools.map(({ name }) => ({ name })),
    shown: response.shown,
    inject_json: response.injectJson,
    ...(policy ? { policy: { name: policy.name, revision: policy.revision } } : {}),
  };
}

function readPreviousForm(kind: Kind, kept: PreviousForm): KeptRequest {
  const { asked: _, shown, single: __, policy: ___, ...options } = kept;
  const form = { injectOutput: false, injectJson: kept.inject_json };
  if (kind === 'compare') return { options, response: COMPARED };
  return {
    options,
    response:
      kind === 'file'
        ? { ...form, shown: shown ?? FILE_TOOLS, injectJson: form.injectJson ?? false }
        : {
            ...form,
            shown: [],
            single: kind,
            injectJson: form.injectJson ?? TOOL_TABLE[kind]?.endpoint?.injectJson ?? false,
          },
  };
}

/** A request that was not opened by the API (kubectl) has neither options nor a form: everything is shown. */
export function readKeptRequest({ kind, request }: { kind: Kind; request: unknown }): KeptRequest {
  const kept = (request ?? {}) as Partial<KeptRequest> & WithPolicy;
  const { options, response } =
    kept.options && kept.response ? (kept as KeptRequest) : readPreviousForm(kind, kept as PreviousForm);
  return { options, response: kept.policy ? { ...response, policy: kept.policy } : response };
}

/** The span that a webhook of the request goes on from. */
export function keptTrace(request: unknown): string | undefined {
  const { trace } = (request ?? {}) as { trace?: unknown };
  return typeof trace === 'string' ? trace : undefined;
}
