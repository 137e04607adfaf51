/** A stored result, as a policy judges it. */
import type { ResultBody, ToolResult } from '../../../platform/bus/result_body.ts';
import { factsOf, TOO_LARGE } from '../../../media/policy/facts.ts';
import type { Facts } from '../../../media/policy/types.ts';
import { report as makeReport, type Told } from '../../../media/report/report.ts';
import { sides } from '../../../media/report/side.ts';
import type { KeptRequest } from '../../result/kept_request.ts';
import type { Unpacked } from '../../result/unpack.ts';
import { extensionOf } from '../../../source/playlist/mapping.ts';
import { probeReport, REPORT_TOOLS, type ReportTool } from '../../../media/tools/probe_report.ts';

function toldBy(tool: ToolResult | undefined, long: Unpacked['long']): Told | undefined {
  if (!tool?.success || tool.output === null || long.has(tool.output)) return undefined;
  try {
    return { version: tool.version, output: JSON.parse(tool.output) as unknown };
  } catch {
    return undefined;
  }
}

function preferred(options: KeptRequest['options']): ReportTool | null {
  const asked = options[probeReport.name] as { prefer?: unknown } | null | undefined;
  return REPORT_TOOLS.find((tool) => tool === asked?.prefer) ?? null;
}

/** Undefined: there is none, or it is too long to be read again. */
function storedReport({ result: { report }, long }: Judged): { diff?: unknown } | undefined {
  if (!report || report.output === null || long.has(report.output)) return undefined;
  return JSON.parse(report.output) as { diff?: unknown };
}

/** What of a result is judged. */
export type JudgedResult = Pick<ResultBody, 'tools' | 'report'>;
interface Judged {
  result: JudgedResult;
  long: Unpacked['long'];
}

/** `display`: the address as the log shows it. An output of more than 256 KB is not read again. */
export function storedFacts(
  unpacked: Judged,
  { options, display }: Pick<KeptRequest, 'options'> & { display: string },
): Facts {
  const { result, long } = unpacked;
  const printed = result.tools.map(({ name, version, success, output }) => ({
    name,
    version,
    success,
    text: () => (output !== null && long.has(output) ? TOO_LARGE : output),
  }));
  const stored = storedReport(unpacked);
  // Without its diff a report says less than a policy may ask for.
  if (Array.isArray(stored?.diff)) return factsOf(printed, stored);
  const made = makeReport({
    ...sides((name) =>
      toldBy(
        result.tools.find((tool) => tool.name === name),
        long,
      ),
    ),
    diff: true,
    prefer: preferred(options),
    extension: extensionOf({ url: display }),
  });
  return factsOf(printed, made ?? stored);
}
