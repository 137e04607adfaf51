/** A timeline as it is stored and answered. */
import Type, { type Static } from 'typebox';
import { count, eitherOrNull, titled, untitled } from '../../base/schema_parts.ts';
import { MOST_COLUMNS, MOST_KEYS, MOST_MARKS, MOST_STREAMS } from './limits.ts';

const seconds = (description: string) => Type.Number({ description });
const name = Type.String({ maxLength: 64 });
const numbers = (description: string) =>
  Type.Array(Type.Integer({ minimum: 0 }), { maxItems: MOST_COLUMNS, description });

const mark = Type.Unsafe<[number, number]>({ type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 });
const marks = (title: string, description: string) =>
  Type.Object(
    {
      count: count('All of them.'),
      list: Type.Array(mark, {
        maxItems: MOST_MARKS,
        description: 'The first ones; fewer of each stream if there are many streams.',
      }),
    },
    { title, additionalProperties: false, description },
  );

const StreamTimelineSchema = titled('StreamTimeline', {
  index: count('Number of the stream.'),
  type: eitherOrNull(name),
  codec: eitherOrNull(name),
  start: eitherOrNull(seconds('Earliest presentation time, in seconds; null if no packet has a time.')),
  end: eitherOrNull(seconds('End of the last packet in presentation order, in seconds.')),
  packets: count('All packets.'),
  bytes: count('Size of all packets.'),
  untimed: count('Packets without a time: in `packets` and `bytes`, and in no column.'),
  step: Type.Number({ exclusiveMinimum: 0, description: 'Width of a column in seconds, a power of two.' }),
  first: seconds('When the first column begins, in seconds.'),
  bits: numbers('Bits of the packets in each column, by decoding time. The bit rate is `bits / step`.'),
  counts: numbers('Packets in each column.'),
  keys: untitled({
    count: count('Key frames of a video stream.'),
    every: Type.Boolean({ description: 'Each packet is a key frame; `times` is empty then.' }),
    times: Type.Array(Type.Number(), {
      maxItems: MOST_KEYS,
      description: 'Presentation times of the first key frames, in seconds; fewer if there are many streams.',
    }),
  }),
  gops: eitherOrNull(
    titled('TimelineGops', {
      count: count('Groups of pictures between two key frames.'),
      min: seconds('The shortest one, in seconds.'),
      mean: seconds('Mean length in seconds.'),
      max: seconds('The longest one, in seconds.'),
      open: Type.Optional(Type.Literal(true, { description: 'Pictures follow the last key frame.' })),
    }),
  ),
  gaps: marks('TimelineGaps', 'Times without a packet: `[at, length]` in seconds.'),
  jumps: marks('TimelineJumps', 'Timestamps that go back: `[time before, by]` in seconds, `by` is negative.'),
});
export type StreamTimeline = Static<typeof StreamTimelineSchema>;

export const TimelineSchema = untitled({
  version: Type.String({ maxLength: 64, description: 'Of ffprobe.' }),
  until: Type.Optional(seconds('If it was cut short: time of the last packet that was read, in seconds.')),
  cut: Type.Optional(Type.String({ maxLength: 4096, description: 'If it was cut short: why.' })),
  streams_left_out: count(`Streams beyond ${MOST_STREAMS}.`),
  streams: Type.Array(StreamTimelineSchema, { maxItems: MOST_STREAMS }),
});
export type Timeline = Static<typeof TimelineSchema>;
