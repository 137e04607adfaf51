/** Results with their outputs as texts, as tests write and read them. */
import { zstdCompressSync } from 'node:zlib';
import type { Result } from '../../src/platform/bus/messages.ts';
import { outputsOf, packBody, resultMessage, type PackedBody } from '../../src/platform/bus/packing.ts';
import type {
  Output,
  ReportResult,
  ResultBody,
  TimelineResult,
  ToolResult,
} from '../../src/platform/bus/result_body.ts';
import { foundIn, hasShapes, scanOutput } from '../../src/service/result/outputs.ts';
import { inflateHead, inflateShort } from '../../src/service/result/inflate.ts';
import type { Unpacked } from '../../src/service/result/unpack.ts';

type WithText<R> = Omit<R, 'output'> & { output: string | null };
export type TextToolResult = WithText<ToolResult>;
export type TextBody = Omit<ResultBody, 'tools' | 'report' | 'timeline' | 'pictures' | 'listing'> & {
  tools: TextToolResult[];
  report?: WithText<ReportResult>;
  timeline?: WithText<TimelineResult>;
  pictures?: { output: string };
  listing?: { output: string };
};

/** As a runner sends it: what is not JSON is text. */
export function inMemory({
  tools,
  report,
  timeline,
  pictures,
  listing,
  ...rest
}: TextBody): Unpacked & { outputs: Buffer } {
  const texts: Buffer[] = [];
  const all = [...tools, report, timeline, pictures, listing].map((result) => Buffer.from(result?.output ?? ''));
  const areLong = hasShapes(all.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  const described = <R extends { format?: 'json' | 'text'; output: string | null }>(result: R) => {
    if (result.output === null) return { ...result, output: null };
    const bytes = Buffer.from(result.output);
    const asJson = result.format !== 'text';
    const scan = scanOutput(at, asJson);
    scan.push(bytes);
    const { output, isJson } = areLong ? scan.end() : foundIn(bytes, at, asJson);
    texts.push(bytes);
    at = output.to;
    return { ...result, ...(result.format ? { format: isJson ? ('json' as const) : ('text' as const) } : {}), output };
  };
  const result = {
    tools: tools.map(described),
    ...(report ? { report: described(report) } : {}),
    ...(timeline ? { timeline: described(timeline) } : {}),
    ...(pictures ? { pictures: described(pictures) } : {}),
    ...(listing ? { listing: described(listing) } : {}),
    ...rest,
  } as ResultBody;
  return { result, outputs: Buffer.concat(texts) };
}

export const headOf = (body: TextBody): ResultBody => inMemory(body).result;

export function packText(body: TextBody): PackedBody {
  const { result, outputs } = inMemory(body);
  return packBody(
    result,
    outputs.length === 0 ? undefined : { packed: [zstdCompressSync(outputs)], bytes: outputs.length },
  );
}

/** For tests of the bus, as a runner's message. */
export const packResult = async (body: TextBody, of: Pick<Result, 'job' | 'attempt' | 'epoch' | 'podUid'>) =>
  resultMessage(packText(body), of);

/** The result of a packed body. */
export async function unpackText(packed: Buffer): Promise<TextBody> {
  const head = JSON.parse((await inflateHead(packed)).toString()) as ResultBody;
  const outputs = inflateShort(packed, outputsOf(head).at(-1)?.output.to ?? 0);
  const withText = <R extends { output: Output | null }>({ output, ...result }: R) => ({
    ...result,
    output: output && outputs.toString('utf8', output.from, output.to),
  });
  const { tools, report, timeline, pictures, listing, ...rest } = head;
  return {
    tools: tools.map(withText),
    ...(report ? { report: withText(report) } : {}),
    ...(timeline ? { timeline: withText(timeline) } : {}),
    ...(pictures ? { pictures: { output: withText(pictures).output ?? '' } } : {}),
    ...(listing ? { listing: { output: withText(listing).output ?? '' } } : {}),
    ...rest,
  };
}
