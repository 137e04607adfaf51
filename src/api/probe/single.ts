/**
 * What the endpoints of one tool have in common: a request becomes a job of one tool, its answer is that tool's output,
 * bare or enveloped.
 */
import type { SingleTool } from '../../result/assemble_single.ts';
import { auth } from '../http/auth.ts';
import { body } from '../http/body.ts';
import { carryOut, type Asked } from './carry_out.ts';
import type { Handler, Input } from '../http/context.ts';
import { countRefused, rateLimitHeaders } from '../http/rate.ts';
import type { Deps } from '../deps.ts';
import { methods, noCache } from '../http/middleware.ts';

interface SingleRequest extends Asked {
  inject_output: boolean;
  inject_json: boolean;
}

export interface Single<T> {
  tool: SingleTool;
  read(input: Input): T;
  /** The options that the tool gets, as texts. */
  options(request: T): Record<string, string>;
}

/** What is kept of a request, to give its result back later. */
export interface KeptSingle {
  single: SingleTool;
  inject_json: boolean;
}

const probe =
  <T extends SingleRequest>(deps: Deps, { tool, read, options }: Single<T>): Handler =>
  async (ctx) => {
    const request = read(ctx.state.input!);
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

export const probeSingle = <T extends SingleRequest>(deps: Deps, single: Single<T>): Handler[] => [
  methods('GET', 'POST'),
  noCache,
  rateLimitHeaders,
  countRefused(deps),
  auth(deps)('write:media'),
  ...body,
  probe(deps, single),
];
