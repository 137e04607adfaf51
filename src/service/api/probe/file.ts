/** `GET|POST /v1/probe/file`: the tools' output for a file, and the report that compares them. */
import { FILE_ROWS, sectionOf } from '../../../media/tools/table.ts';
import { runProbe } from './run.ts';
import type { Context } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { endpoint } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';
import { FILE } from './description/file.ts';
import { ProbeFileSchema, takeIgnored, type ProbeFile } from './schema/file.ts';
import { askedPolicy } from './policy.ts';
import { probeRequest } from './request.ts';
import { selectTools } from './tools.ts';
import { nameIgnored } from './ignored.ts';

/** For a tool whose output format the caller chooses. */
function bareType(fields: ProbeFile): { bareType?: string } {
  const only = FILE_ROWS.find((row) => sectionOf(row) === fields.only);
  const formats = only && 'args' in only ? only.formats : undefined;
  return only && formats ? { bareType: formats.mediaType(formats.of(fields[sectionOf(only)])) } : {};
}

async function probe(deps: Deps, ctx: Context): Promise<void> {
  const fields = checkedBy(ProbeFileSchema, ctx);
  nameIgnored(ctx, takeIgnored(fields));
  const policy = await askedPolicy(deps, ctx, fields.policy);
  const { tools, shown, report } = selectTools(fields, deps.catalog(), policy?.policy);
  const { timeline: asked, ...others } = fields;
  for (const row of FILE_ROWS) if (row.file.tunable) fields[sectionOf(row)].version ??= 'latest';
  const response = {
    shown,
    injectOutput: fields.only !== null && (fields.inject_output ?? (policy === null && deps.settings.onlyReturnsRaw)),
    injectJson: fields.inject_json,
    ...bareType(fields),
  };
  const own = { kind: 'file', tools, report, response, policy, timeline: asked.enabled } as const;
  // A request without a timeline is the same as before there were any.
  await runProbe(deps, ctx, probeRequest(deps, ctx, asked.enabled ? fields : others, own));
}

export const fileByQuery = endpoint('GET /v1/probe/file', FILE.byQuery, probe);
export const fileByBody = endpoint('POST /v1/probe/file', { ...FILE.byBody, upload: true }, probe);
