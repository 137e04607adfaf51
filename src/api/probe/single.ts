/**
 * What the endpoints of one tool have in common: a request becomes a job of one tool, its answer is that tool's output,
 * bare or enveloped.
 */
import type { SingleTool } from '../../result/assemble_single.ts';
import { carryOut, type Asked } from './carry_out.ts';
import type { Handler } from '../http/context.ts';
import type { Deps } from '../deps.ts';

interface SingleRequest extends Asked {
  inject_output: boolean;
  inject_json: boolean;
}

export interface Single<T> {
  tool: SingleTool;
  /** The options that the tool gets, as texts. */
  options(request: T): Record<string, string>;
}

/** What is kept of a request, to give its result back later. */
export interface KeptSingle {
  single: SingleTool;
  inject_json: boolean;
}

export const probeSingle = <T extends SingleRequest>(deps: Deps, { tool, options }: Single<T>): Handler =>
  async function probeWithTool(ctx) {
    const request = ctx.state.checked as T;
    const texts = options(request);
    const { version } = deps.catalog().resolve(tool, 'latest');
    const { url: _, webhook_url: __, ...rest } = request;
    await carryOut(deps, ctx, {
      kind: tool,
      request,
      selection: {
        tools: [
          {
            name: tool,
            version,
            timeoutMs: request.timeout,
            ...(Object.keys(texts).length > 0 ? { options: texts } : {}),
          },
        ],
        report: { enabled: false },
      },
      wanted: {
        single: tool,
        shown: [],
        injectOutput: request.inject_output,
        injectJson: request.inject_json,
      },
      kept: { ...rest, single: tool } satisfies KeptSingle,
    });
  };
