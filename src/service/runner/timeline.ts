/** The timeline of a source: one more run of ffprobe, over all packets, gathered while it prints. */
import { codeMember } from '../../base/causes.ts';
import type { AssignedTool, Assignment } from '../../platform/bus/messages.ts';
import { timelineGatherer } from '../../media/timeline/gather.ts';
import { MOST_BYTES } from '../../media/timeline/limits.ts';
import { PACKET_OPTIONS, type StreamLine } from '../../media/timeline/packets.ts';
import type { Timeline } from '../../media/timeline/schema.ts';
import type { StreamGaps } from '../../media/report/warnings.ts';
import { ffprobe } from '../../media/tools/ffprobe.ts';
import { printedStreams, readingOptions } from './report.ts';
import type { RawTimeline, RawToolResult } from './output.ts';

export interface TimelineRun {
  assignment: Assignment;
  /** Results of the job so far. */
  ran: readonly RawToolResult[];
  run(tool: AssignedTool, onOutput: (bytes: Buffer) => void): Promise<RawToolResult>;
}

/** The packet list takes as long as the whole source takes to read: the tool's own time limit does not apply. */
function packetRun(tool: AssignedTool, { timeoutMs }: Assignment): AssignedTool {
  return { ...tool, timeoutMs, options: { ...readingOptions(tool), ...PACKET_OPTIONS } };
}

/** What stopped ffprobe itself stops the packet list, too; its output and its own time limit do not. */
const cannotRead = ({ success, failure }: RawToolResult): boolean =>
  !success && failure !== 'output-too-large' && failure !== 'timeout';

const word = (value: unknown): string | null =>
  typeof value === 'string' && /^[a-z0-9_]{1,40}$/.test(value) ? value : null;

/** The packet list may not have come to all of them. */
const streamsIn = (ran: RawToolResult | undefined): StreamLine[] =>
  (printedStreams(ran)?.streams ?? []).map((stream) => ({
    index: Number(stream['index']),
    type: word(stream['codec_type']),
    codec: word(stream['codec_name']),
  }));

export interface ReadTimeline {
  timeline: RawTimeline;
  /** For the warnings of the report. */
  gaps: StreamGaps[];
}

const gapsIn = ({ streams }: Timeline): StreamGaps[] =>
  streams.flatMap(({ index, gaps: { count, list } }) => {
    const [at, seconds] = list[0] ?? [];
    return at === undefined || seconds === undefined ? [] : [{ stream: index, count, at, seconds }];
  });

export async function timelineOf({ assignment, ran, run }: TimelineRun): Promise<ReadTimeline> {
  const failed = (timeline: Partial<RawTimeline>): ReadTimeline => ({
    timeline: { success: false, durationMs: 0, usageMs: 0, output: null, ...timeline },
    gaps: [],
  });
  const tool = assignment.tools.find(({ name }) => name === ffprobe.name);
  const before = ran.find(({ name }) => name === ffprobe.name);
  if (!tool) return failed({ error: 'a timeline needs ffprobe, which is not among the tools' });
  if (before && cannotRead(before)) return failed({ error: before.error ?? 'ffprobe failed', ...codeMember(before) });

  const gathered = timelineGatherer();
  const { success, durationMs, usageMs, error, ...why } = await run(packetRun(tool, assignment), (bytes) =>
    gathered.push(bytes),
  );
  const cost = { durationMs, usageMs };
  if (!success && gathered.packets() === 0)
    return failed({ ...cost, error: error ?? 'ffprobe failed', ...codeMember(why) });
  const cut = success ? undefined : (error ?? 'ffprobe failed').slice(0, 1_000);
  const told = gathered.told(tool.version, cut, cut === undefined ? [] : streamsIn(before));
  const output = Buffer.from(JSON.stringify(told));
  return output.length > MOST_BYTES
    ? failed({ ...cost, error: 'the timeline is too large' })
    : { timeline: { ...cost, success: true, output }, gaps: gapsIn(told) };
}
