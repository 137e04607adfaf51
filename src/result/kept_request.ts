/** What the record keeps of a request beside its address. */
import type { Kind } from '../kube/probe_job.ts';
import { FILE_TOOLS, TOOL_TABLE, type FileTool, type ToolName } from '../tools/table.ts';
import { COMPARED, type ResponseForm } from './answer.ts';
import type { NamedPolicy } from './verdict.ts';

export interface KeptRequest {
  /** What the caller asked for, without the addresses: shown in the log. */
  options: Record<string, unknown>;
  /** How the result is given back later: always enveloped. */
  response: ResponseForm;
}

/** Beside these members, because it is known of a request that no API opened, too. */
interface WithPolicy {
  policy?: NamedPolicy | null;
}

/** Before 0.2 the options stood at the top level, among members that are not the caller's. */
interface PreviousForm extends Record<string, unknown> {
  asked?: { name: ToolName }[];
  shown?: readonly FileTool[];
  single?: string;
  inject_json?: boolean;
}

/** Also what replicas of the previous version need, until none can run beside this one. */
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

/** A request that no API opened (kubectl) has neither options nor a form: everything is shown. */
export function readKeptRequest({ kind, request }: { kind: Kind; request: unknown }): KeptRequest {
  const kept = (request ?? {}) as Partial<KeptRequest> & WithPolicy;
  const { options, response } =
    kept.options && kept.response ? (kept as KeptRequest) : readPreviousForm(kind, kept as PreviousForm);
  return { options, response: kept.policy ? { ...response, policy: kept.policy } : response };
}
