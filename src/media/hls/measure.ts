/** Fetches and measures segments of each playlist, a sample or all of them, bounded in number, bytes and time. */
import { getOrMake } from '../../base/get_or_make.ts';
import type { Findings } from './findings.ts';
import type { Limits } from './limits.ts';
import type { Origin } from './origin.ts';
import { isLive, text, type Playlist, type Segment } from './playlist.ts';
import {
  compareChannels,
  compareFormats,
  compareRates,
  compareSegments,
  isIndependent,
  ratesOf,
  type MeasuredSegment,
  type Rates,
  type VariantRates,
} from './compare.ts';
import { probe, type Stream } from './probe.ts';
import type { MeasuredPlaylist } from './schema.ts';
import { fetchSegment, hasAudioTimestamp, type Reading } from './segment.ts';
import type { Member } from './rules/across.ts';

export interface Measured {
  /** By the address of the playlist; '' is the source itself. */
  playlists: Map<string, MeasuredPlaylist>;
  /** By the line of the variant: its own bit rates and the highest of its audio group. */
  variants: Map<number, VariantRates>;
}

export interface Measuring {
  main: Playlist;
  members: readonly Member[];
  origin: Origin;
  findings: Findings;
  limits: Limits;
  /** The command that measures a segment; undefined: not available. */
  probeCommand: readonly string[] | undefined;
  /** Every segment, not a sample. */
  all: boolean;
  signal: AbortSignal;
  deadline: number;
}

interface Budget {
  bytes: number;
  cut: boolean;
  impossible: boolean;
}
interface Result {
  rates: Rates;
  streams: Stream[];
  durations: MeasuredPlaylist['durations'];
}

/** Concurrent segments: one is fetched while another is measured. */
const AT_ONCE = 2;
/** Of the time, for the report. */
const SPARE_MS = 1_000;

export async function measure(measuring: Measuring): Promise<Measured> {
  const { main, members, findings, probeCommand } = measuring;
  const note = findings.in(main.url);
  if (probeCommand === undefined) note('measuring-impossible', 1);
  const all: readonly { url: string; playlist: Playlist }[] =
    main.kind === 'media' ? [{ url: '', playlist: main }] : members;
  const budget: Budget = { bytes: measuring.limits.measuredBytes, cut: false, impossible: probeCommand === undefined };
  const results = new Map<string, Result>();
  const queue = all.filter(({ playlist }) => playlist.segments.length > 0);
  const transport = queue.some(({ playlist }) => /\.ts(\?|$)/i.test(playlist.segments[0]?.uri ?? ''));
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const share = shareOf(budget, measuring, queue.length);
      const result = await measurePlaylist(next.playlist, measuring, budget, transport, share);
      if (result !== undefined) results.set(next.url, result);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (budget.cut) note('measuring-cut', 1);
  else if (budget.impossible && probeCommand !== undefined) note('measuring-impossible', 1);
  const variants = compareVariants(measuring, results);
  const playlists = new Map(
    [...results].map(([url, { rates, streams, durations }]) => [
      url,
      {
        segments: rates.count,
        bytes: rates.bytes,
        seconds: Number(rates.seconds.toFixed(3)),
        peak_bit_rate: rates.peak,
        average_bit_rate: rates.average,
        durations,
        streams: streams.map(({ type, codec, profile, width, height, channels }) => ({
          type,
          codec,
          profile,
          width,
          height,
          channels,
        })),
      },
    ]),
  );
  return { playlists, variants };
}

/** What a playlist may use beyond its sample: later ones need theirs. */
interface Share {
  bytes: number;
  until: number;
}

function shareOf({ bytes }: Budget, { deadline }: Measuring, waiting: number): Share {
  const now = performance.now();
  return {
    bytes: bytes / (waiting + 1),
    until: now + (deadline - SPARE_MS - now) / Math.ceil((waiting + 1) / AT_ONCE),
  };
}

/** Pairs of neighbours, from the beginning to the end; for a live playlist the newest segments. */
export function sampleOf(playlist: Playlist, most: number): Segment[] {
  const there = playlist.segments.filter(({ gap }) => !gap);
  if (there.length <= most) return there;
  if (isLive(playlist)) return there.slice(-most);
  const pairs = Math.max(1, Math.floor(most / 2));
  const chosen = new Set<number>();
  for (let pair = 0; pair < pairs; pair++) {
    const at = pairs === 1 ? 0 : Math.round((pair * (there.length - 2)) / (pairs - 1));
    chosen.add(at).add(at + 1);
  }
  return [...chosen].sort((a, b) => a - b).map((index) => there[index]!);
}

async function measurePlaylist(
  playlist: Playlist,
  measuring: Measuring,
  budget: Budget,
  transport: boolean,
  share: Share,
): Promise<Result | undefined> {
  const { origin, limits, findings, signal, probeCommand, main } = measuring;
  const note = findings.in(playlist.url);
  const reading: Reading = { origin, base: playlist.base, limits, note, signal, keys: new Map(), inits: new Map() };
  const measured: MeasuredSegment[] = [];
  const streams = new Map<string, Stream>();
  const sample = sampleOf(playlist, limits.segments);
  // The sample comes first: where time or bytes end early, it still stands for the whole.
  const rest = measuring.all ? playlist.segments.filter((one) => !one.gap && !sample.includes(one)) : [];
  let bytes = 0;
  for (const [index, segment] of [...sample, ...rest].entries()) {
    const now = performance.now();
    const overShare = index >= sample.length && (bytes > share.bytes || now > share.until);
    if (budget.bytes <= 0 || signal.aborted || now > measuring.deadline - SPARE_MS || overShare) {
      budget.cut = true;
      break;
    }
    const fetched = await fetchSegment(segment, reading);
    if (fetched === undefined) continue;
    budget.bytes -= fetched.bytes;
    bytes += fetched.bytes;
    const { media, format } = fetched;
    const one: MeasuredSegment = { segment, bytes: fetched.bytes, facts: undefined };
    measured.push(one);
    if (format === 'webvtt') {
      if (transport && !media?.toString('latin1', 0, 4096).includes('X-TIMESTAMP-MAP'))
        note('webvtt-map', segment.line);
      continue;
    }
    if (format === 'audio' && media !== undefined && !hasAudioTimestamp(media)) note('audio-timestamp', segment.line);
    if (media === undefined || format === undefined || probeCommand === undefined || budget.impossible) continue;
    const facts = await probe(probeCommand, media, format, signal);
    if (typeof facts !== 'string') {
      one.facts = facts;
      for (const stream of facts.streams)
        streams.set(`${stream.type} ${stream.codec} ${stream.width}x${stream.height}`, stream);
      if (format === 'ts' && facts.streams.some(({ codec }) => codec === 'hevc')) note('hevc-measured', segment.line);
    } else if (facts === 'unstartable') budget.impossible = true;
    else if (signal.aborted) budget.cut = true;
    else note('segment-format', segment.line, facts);
  }
  if (measured.length === 0) return undefined;
  measured.sort((a, b) => Number(a.segment.sequence - b.segment.sequence));
  compareSegments(measured, playlist, isIndependent(main, playlist), note);
  const durations = durationsOf(measured, playlist);
  return { rates: ratesOf(measured, playlist), streams: [...streams.values()], durations };
}

function durationsOf(
  measured: readonly MeasuredSegment[],
  { mediaSequence, skipped }: Playlist,
): MeasuredPlaylist['durations'] {
  return measured.flatMap(({ segment, facts }) => {
    const seconds = facts === undefined ? NaN : facts.end - facts.start;
    if (!(seconds >= 0 && seconds < Infinity)) return [];
    const index = Number(segment.sequence - mediaSequence) - skipped;
    return [{ index, seconds: Number(seconds.toFixed(3)) }];
  });
}

function compareVariants({ main, findings }: Measuring, results: ReadonlyMap<string, Result>): Measured['variants'] {
  const note = findings.in(main.url);
  const of = (reference: string | undefined): Result | undefined =>
    reference !== undefined && URL.canParse(reference, main.base)
      ? results.get(new URL(reference, main.base).href)
      : undefined;
  const groups = new Map<string, Set<Result>>();
  for (const rendition of main.renditions) {
    const result = rendition.type === 'AUDIO' ? of(rendition.uri) : undefined;
    if (result === undefined) continue;
    compareChannels(rendition, result.streams, note);
    // A playlist may occur in a group any number of times.
    getOrMake(groups, rendition.group, () => new Set()).add(result);
  }
  const byLine: Measured['variants'] = new Map();
  for (const variant of main.variants) {
    const own = of(variant.uri);
    if (own === undefined) continue;
    // The playlist of an audio-only variant is often a rendition of its own group: it is played once.
    const group = groups.get(text(variant.tag, 'AUDIO') ?? '') ?? [];
    const audio = [...group].filter((result) => result !== own);
    const played = {
      peak: own.rates.peak + Math.max(0, ...audio.map(({ rates }) => rates.peak)),
      average: own.rates.average + Math.max(0, ...audio.map(({ rates }) => rates.average)),
    };
    if (own.rates.seconds > 0) byLine.set(variant.line, played);
    const all = own.rates.all && audio.every(({ rates }) => rates.all);
    compareRates(variant, played, all, note);
    if (own.streams.length > 0)
      compareFormats(
        variant,
        own.streams,
        audio.flatMap(({ streams }) => streams),
        note,
      );
  }
  return byLine;
}
