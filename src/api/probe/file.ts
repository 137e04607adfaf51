/** `GET|POST /v1/probe/file`: what ffprobe and mediainfo say of a source, and the report that they lead to. */
import { FILE_ROWS, type ToolName } from '../../tools/table.ts';
import type { Wanted } from '../../result/wanted.ts';
import { carryOut } from './carry_out.ts';
import type { Context, Handler } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { endpoint } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';
import { FILE_BY_BODY, FILE_BY_QUERY } from '../openapi/probe_file.ts';
import { IGNORED, ProbeFileSchema, type ProbeFile } from './schema/file.ts';
import { selectTools, type Selection } from './tools.ts';

function ignoredFields(ctx: Context, request: ProbeFile): void {
  const ignored = IGNORED.filter((name) => request[name] !== undefined);
  if (ignored.length > 0) ctx.set('X-Ignored-Fields', ignored.join(', '));
  for (const name of ignored) delete request[name];
}

export interface Kept extends Omit<ProbeFile, 'url' | 'webhook_url'>, Pick<Selection, 'shown'> {
  /** For replicas of the previous version, which work out the status of a result from it. */
  asked: { name: ToolName }[];
}

/** Of a tool that prints in a format of the caller's choice. */
function bareType(request: ProbeFile): { bareType?: string } {
  const only = FILE_ROWS.find(({ name }) => name === request.only);
  const formats = only && 'args' in only ? only.formats : undefined;
  return only && formats ? { bareType: formats.mediaType(String(request[only.name][formats.option])) } : {};
}

function wantedOf(request: ProbeFile, selection: Selection, onlyReturnsRaw: boolean): Wanted {
  return {
    shown: selection.shown,
    injectOutput: request.only !== null && (request.inject_output ?? onlyReturnsRaw),
    injectJson: request.inject_json,
    ...bareType(request),
  };
}

const probe = (deps: Deps): Handler =>
  async function probeFile(ctx) {
    const request = checkedBy(ProbeFileSchema, ctx);
    ignoredFields(ctx, request);
    const selection = selectTools(request, deps.catalog());
    const wanted = wantedOf(request, selection, deps.settings.onlyReturnsRaw);
    const { url: _, webhook_url: __, ...options } = request;
    const asked = selection.tools.map(({ name }) => ({ name }));
    const kept: Kept = { ...options, shown: selection.shown, asked };
    await carryOut(deps, ctx, { kind: 'file', request, selection, wanted, kept });
  };

export const fileByQuery = endpoint('GET /v1/probe/file', FILE_BY_QUERY, (deps) => [probe(deps)]);
export const fileByBody = endpoint('POST /v1/probe/file', FILE_BY_BODY, (deps) => [probe(deps)]);
