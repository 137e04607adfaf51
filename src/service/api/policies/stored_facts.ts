/** A stored result, as a policy judges it. */
import type { ResultBody, ToolResult } from '../../../platform/bus/result_body.ts';
import { factsOf, TOO_LARGE } from '../../../media/policy/facts.ts';
import type { Facts } from '../../../media/policy/types.ts';
import { report as makeReport, type Told } from '../../../media/report/report.ts';
import { sides } from '../../../media/report/side.ts';
import type { KeptRequest } from '../../result/kept_request.ts';
import type { Texts } from '../../result/unpack.ts';
import { extensionOf } from '../../../source/playlist/mapping.ts';
import { probeReport, REPORT_TOOLS, type ReportTool } from '../../../media/tools/probe_report.ts';

function toldBy(tool: ToolResult | undefined, texts: Texts): Told | undefined {
  const text = tool?.success && tool.output ? texts.get(tool.output.from) : undefined;
  if (tool === undefined || text === undefined) return undefined;
  try {
    return { version: tool.version, output: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

function preferred(options: KeptRequest['options']): ReportTool | null {
  const asked = options[probeReport.name] as { prefer?: unknown } | null | undefined;
  return REPORT_TOOLS.find((tool) => tool === asked?.prefer) ?? null;
}

/** Undefined: there is none, or it is too long to be read again. */
function storedReport({ result: { report }, texts }: Judged): { diff?: unknown } | undefined {
  const text = report?.output ? texts.get(report.output.from) : undefined;
  return text === undefined ? undefined : (JSON.parse(text) as { diff?: unknown });
}

/** What of a result is judged. */
export type JudgedResult = Pick<ResultBody, 'tools' | 'report'>;
interface Judged {
  result: JudgedResult;
  texts: Texts;
}

/** `display`: the address as the log shows it. A long output is not read again. */
export function storedFacts(
  unpacked: Judged,
  { options, display }: Pick<KeptRequest, 'options'> & { display: string },
): Facts {
  const { result, texts } = unpacked;
  const printed = result.tools.map(({ name, version, success, output }) => ({
    name,
    version,
    success,
    text: () => (output === null ? null : (texts.get(output.from) ?? TOO_LARGE)),
  }));
  const stored = storedReport(unpacked);
  // Without its diff a report says less than a policy may ask for.
  if (Array.isArray(stored?.diff)) return factsOf(printed, stored);
  const made = makeReport({
    ...sides((name) =>
      toldBy(
        result.tools.find((tool) => tool.name === name),
        texts,
      ),
    ),
    diff: true,
    prefer: preferred(options),
    extension: extensionOf({ url: display }),
  });
  // What the pictures say is in the stored report alone.
  return factsOf(printed, made && stored ? { ...stored, diff: made.diff } : (made ?? stored));
}
