/** `GET|POST /v1/probe/file`: what the tools say of a file, and the report that compares them. */
import { FILE_ROWS } from '../../tools/table.ts';
import { runProbe } from './run.ts';
import type { Context } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { endpoint } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';
import { FILE } from './description/file.ts';
import { IGNORED, ProbeFileSchema, type ProbeFile } from './schema/file.ts';
import { probeRequest } from './request.ts';
import { selectTools } from './tools.ts';

function ignoredFields(ctx: Context, fields: ProbeFile): void {
  const ignored = IGNORED.filter((name) => fields[name] !== undefined);
  if (ignored.length > 0) ctx.set('X-Ignored-Fields', ignored.join(', '));
  for (const name of ignored) delete fields[name];
}

/** Of a tool that prints in a format of the caller's choice. */
function bareType(fields: ProbeFile): { bareType?: string } {
  const only = FILE_ROWS.find(({ name }) => name === fields.only);
  const formats = only && 'args' in only ? only.formats : undefined;
  return only && formats ? { bareType: formats.mediaType(String(fields[only.name][formats.option])) } : {};
}

async function probe(deps: Deps, ctx: Context): Promise<void> {
  const fields = checkedBy(ProbeFileSchema, ctx);
  ignoredFields(ctx, fields);
  const { tools, shown, report } = selectTools(fields, deps.catalog());
  const response = {
    shown,
    injectOutput: fields.only !== null && (fields.inject_output ?? deps.settings.onlyReturnsRaw),
    injectJson: fields.inject_json,
    ...bareType(fields),
  };
  await runProbe(deps, ctx, probeRequest(deps, ctx, fields, { kind: 'file', tools, report, response }));
}

export const fileByQuery = endpoint('GET /v1/probe/file', FILE.byQuery, probe);
export const fileByBody = endpoint('POST /v1/probe/file', FILE.byBody, probe);
