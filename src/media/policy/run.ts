/** One evaluation: the facts by the places where conditions look, and the work that is left. */
import { listOf, objectOf, type JsonObject } from '../report/json.ts';
import { frameOf } from '../report/tolerances.ts';
import { REPORT_TOOLS, type ReportTool } from '../tools/probe_report.ts';
import { MOST_OUTPUT, MOST_STEPS } from './limits.ts';
import { RATE } from './kinds.ts';
import type { Policy } from './schema.ts';
import type { Facts, RawTool, StreamType, ToolFacts } from './types.ts';

export interface Stream {
  /** `streams[1]`, as the report names it. */
  path: string;
  type: string;
  view: JsonObject;
  site: Site;
}

/** Where a value stands: for other fields beside it, and for how long a frame is. */
export interface Site {
  run: Run;
  own: Stream | undefined;
}

export interface Difference {
  ffprobe: unknown;
  mediainfo: unknown;
  chosen: ReportTool | undefined;
}

/** Steps that an evaluation may take: a policy's work is counted, never timed. */
export class Meter {
  #left: number;
  constructor(most: number = MOST_STEPS) {
    this.#left = most;
  }
  /** False once they are used up. */
  step(steps = 1): boolean {
    if (this.#left >= 0) this.#left -= steps;
    return this.#left >= 0;
  }
  get left(): number {
    return this.#left;
  }
  get spent(): boolean {
    return this.#left < 0;
  }
}

export type Read = { output: unknown; from: string } | { why: string };

export class Run {
  readonly facts: Facts;
  readonly uses: Policy['uses'];
  readonly meter: Meter;
  readonly report: JsonObject | undefined;
  readonly container: JsonObject;
  readonly #confidence: JsonObject;
  /** Of what belongs to no stream. */
  readonly site: Site = { run: this, own: undefined };
  /** Results of conditions that do not depend on the stream they are asked for. */
  readonly memo = new Map<object, unknown>();
  readonly #byType: Readonly<Record<StreamType, Stream[]>>;
  #differences: ReadonlyMap<string, Difference> | undefined;
  #top: Stream | undefined | null = null;
  #slowest: number | undefined;

  constructor(facts: Facts, uses: Policy['uses'], meter: Meter) {
    this.facts = facts;
    this.uses = uses;
    this.meter = meter;
    this.report = facts.report === undefined ? undefined : objectOf(facts.report);
    this.container = objectOf(this.report?.['container']);
    this.#confidence = objectOf(this.report?.['confidence']);
    this.#byType = { video: [], audio: [], subtitle: [], data: [], attachment: [], picture: [], stream: [] };
    for (const [index, value] of listOf(this.report?.['streams']).entries()) {
      const view = objectOf(value);
      const type = view['attached_picture'] === true ? 'picture' : view['type'];
      const site: Site = { run: this, own: undefined };
      const stream: Stream = { path: `streams[${index}]`, type: String(type), view, site };
      site.own = stream;
      this.#byType.stream.push(stream);
      if (typeof type === 'string' && type !== 'stream' && Object.hasOwn(this.#byType, type))
        this.#byType[type as StreamType].push(stream);
    }
  }

  streams(type: StreamType): readonly Stream[] {
    return this.#byType[type];
  }

  /** How sure the report is of a field, where that was learned. */
  confidence(path: string): number | undefined {
    const said = this.#confidence[path];
    return typeof said === 'number' && said >= 0 && said <= 1 ? said : undefined;
  }

  /** The one whose fields stand at the top of the report: the first video, in a playlist that of the first variant. */
  get top(): Stream | undefined {
    if (this.#top !== null) return this.#top;
    const videos = this.#byType.video;
    const [size, codec] = [JSON.stringify(this.report?.['size']), JSON.stringify(this.report?.['codec'])];
    const shows = ({ view }: Stream) =>
      JSON.stringify(view['size'] ?? {}) === size && JSON.stringify({ id: 0, ...objectOf(view['codec']) }) === codec;
    return (this.#top = videos.length < 2 ? videos[0] : (videos.slice(0, 50).find(shows) ?? videos[0]));
  }

  /** By path; undefined where the report was made without them. */
  get differences(): ReadonlyMap<string, Difference> | undefined {
    if (this.report === undefined || !Array.isArray(this.report['diff'])) return undefined;
    return (this.#differences ??= new Map(
      listOf(this.report['diff']).map((value) => {
        const difference = objectOf(value);
        return [
          String(difference['path']),
          {
            ffprobe: difference['ffprobe'],
            mediainfo: difference['mediainfo'],
            chosen: REPORT_TOOLS.find((tool) => tool === difference['chosen']),
          },
        ];
      }),
    ));
  }

  /** Why only one of the two tools stands behind the report. */
  get single(): string | undefined {
    const warning = listOf(this.report?.['warnings'])
      .map(objectOf)
      .find(({ code }) => code === 'single-source');
    return warning === undefined ? undefined : String(warning['message']);
  }

  /** Seconds of one frame of a stream; of the container, those of its slowest stream. */
  frame(stream: Stream | undefined): number {
    const of = ({ view }: Stream) => {
      const rate = RATE.actual(view['frame_rate']);
      const sampleRate = view['sample_rate'];
      return frameOf({
        ...(rate === undefined ? {} : { frame_rate: Number(rate) }),
        ...(typeof sampleRate === 'number' ? { sample_rate: sampleRate } : {}),
      });
    };
    if (stream !== undefined) return of(stream);
    const all = this.#byType.stream;
    return (this.#slowest ??= all.length === 0 ? frameOf({}) : all.reduce((most, one) => Math.max(most, of(one)), 0));
  }

  /** What a tool printed, as JSON. */
  read(name: RawTool): Read {
    const pinned = name === 'ffprobe' || name === 'mediainfo' ? this.uses?.[name] : undefined;
    const ran = this.facts.tools.filter((tool) => tool.name === name);
    const tool = ran.find(({ version }) => version === pinned) ?? ran[0];
    if (name === 'msv' || name === 'c2pa') return reportOf(name, tool);
    if (tool === undefined) return { why: `${name} did not run` };
    if (pinned !== undefined && tool.version !== pinned)
      return { why: `the policy is written for ${name} ${pinned}, and ${tool.version} ran` };
    return tool.success ? opened(tool) : { why: `${name} ${tool.version} failed` };
  }
}

/** A validator that finds fault has a report, too: of those success says nothing. */
function reportOf(from: string, tool: ToolFacts | undefined): Read {
  const read = tool && opened(tool);
  return read && 'output' in read && typeof read.output === 'object' && read.output !== null
    ? { output: read.output, from }
    : { why: `${from} gave no report` };
}

/** Read where a rule asks for it, and once for all policies. */
const known = new WeakMap<ToolFacts, Read>();
function opened(tool: ToolFacts): Read {
  let read = known.get(tool);
  if (!read) known.set(tool, (read = parsed(tool)));
  return read;
}

function parsed({ name, version, output }: ToolFacts): Read {
  const from = `${name} ${version}`;
  if (output === null) return { why: `${from} printed nothing` };
  if (output.length > MOST_OUTPUT) return { why: `the output of ${from} is too large to be read again` };
  try {
    return { output: JSON.parse(output), from };
  } catch {
    return { why: `the output of ${from} is not JSON` };
  }
}
