/** A timeline for people: a line for each stream, then the times at which packets are missing or go back. */
import type { StreamTimeline, Timeline } from '../../api_types.ts';
import { oneLine, type Terminal } from '../terminal.ts';
import { bitRate, duration, paint, several, tableText } from './text_table.ts';

const BARS = '▁▂▃▄▅▆▇█';
const MOST_BARS = 48;
const MOST_MARKS = 5;

/** The mean of each part of the time, against the highest of them. */
function barsOf({ bits }: StreamTimeline): string {
  const width = Math.min(MOST_BARS, bits.length);
  const means = Array.from({ length: width }, (_, at) => {
    const part = bits.slice(Math.floor((at * bits.length) / width), Math.floor(((at + 1) * bits.length) / width));
    return part.reduce((sum, one) => sum + one, 0) / part.length;
  });
  const highest = Math.max(1, ...means);
  return means.map((mean) => BARS[Math.min(BARS.length - 1, Math.floor((mean / highest) * BARS.length))]).join('');
}

function keysOf({ type, keys, gops }: StreamTimeline): string {
  if (type !== 'video') return '';
  if (keys.every) return 'every picture';
  return gops ? `${keys.count}, every ${duration(gops.mean * 1_000)}` : String(keys.count);
}

const seconds = (time: number | null): string => (time === null ? '?' : time.toFixed(2));

function rowOf(stream: StreamTimeline): string[] {
  const { index, type, codec, start, end, bytes, bits, step } = stream;
  const length = (end ?? 0) - (start ?? 0);
  const peak = bits.reduce((most, one) => Math.max(most, one), 0);
  return [
    String(index),
    type ?? '',
    codec ?? '',
    `${seconds(start)} to ${seconds(end)} s`,
    length > 0 ? bitRate(Math.round((bytes * 8) / length)) : '',
    bitRate(Math.round(peak / step)),
    keysOf(stream),
    barsOf(stream),
  ];
}

const MARKS = { gaps: 'gap', jumps: 'time jump' } as const;

/** As `2 gaps in stream 0: 0.29 s at 12.50 s, 0.24 s at 20.00 s`. */
function marksOf(stream: StreamTimeline): string[] {
  return (Object.keys(MARKS) as (keyof typeof MARKS)[]).flatMap((kind) => {
    const { count, list } = stream[kind];
    if (count === 0) return [];
    const told = list.slice(0, MOST_MARKS).map(([at, by]) => `${seconds(Math.abs(by!))} s at ${seconds(at!)} s`);
    const times = `${told.join(', ')}${told.length < count ? ' …' : ''}`;
    return [`${several(count, MARKS[kind])} in stream ${stream.index}: ${times}`];
  });
}

export function timelineText(terminal: Terminal, { streams, streams_left_out: left, until, cut }: Timeline): string {
  const head = ['STREAM', 'TYPE', 'CODEC', 'TIME', 'MEAN', 'HIGHEST', 'KEY FRAMES', 'BIT RATE OVER TIME'];
  const parts = [tableText(terminal, head, streams.map(rowOf))];
  for (const line of streams.flatMap(marksOf)) parts.push(`${paint(terminal, 'yellow', 'timeline')} ${line}\n`);
  if (cut !== undefined) parts.push(`the timeline ends at ${seconds(until ?? null)} s: ${oneLine(cut)}\n`);
  if (left > 0) parts.push(`${several(left, 'more stream')} left out of the timeline\n`);
  return parts.join('');
}
