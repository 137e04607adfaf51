/**
 * What the endpoints of one tool have in common: a request becomes a job of one tool, its answer is that tool's output,
 * bare or enveloped.
 */
import type { EndpointTool } from '../../tools/table.ts';
import { runProbe } from './run.ts';
import { probeRequest, type CommonFields } from './request.ts';
import type { Work } from '../http/endpoint.ts';

interface SingleFields extends CommonFields {
  inject_output: boolean;
  inject_json: boolean;
}

export interface Single<T> {
  tool: EndpointTool;
  /** The options that the tool gets, as texts. */
  options(fields: T): Record<string, string>;
}

export const probeSingle = <T extends SingleFields>({ tool, options }: Single<T>): Work =>
  async function probeWithTool(deps, ctx) {
    const fields = ctx.state.checked as T;
    const texts = options(fields);
    const { version } = deps.catalog().resolve(tool, 'latest');
    const ran = { name: tool, version, timeoutMs: fields.timeout };
    const request = probeRequest(deps, ctx, fields, {
      kind: tool,
      tools: [Object.keys(texts).length > 0 ? { ...ran, options: texts } : ran],
      report: { enabled: false },
      response: { single: tool, shown: [], injectOutput: fields.inject_output, injectJson: fields.inject_json },
    });
    await runProbe(deps, ctx, request);
  };
