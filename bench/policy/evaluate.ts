/**
 * The cost of a verdict for 100 rules over a report of 50 streams, beside parsing the JSON of the same report, which
 * judging a stored result requires first. `npm exec -- node bench/policy/evaluate.ts [runs]`.
 */
import { evaluate } from '../../src/media/policy/evaluate.ts';
import { readPolicy } from '../../src/media/policy/read.ts';
import type { Condition } from '../../src/media/policy/schema.ts';
import { report } from '../../src/media/report/report.ts';
import { inWords, undisturbed } from '../undisturbed.ts';

const runs = Number(process.argv[2] ?? 1000);
const STREAMS = 50;
const RULES = 100;

const stream = (index: number): object =>
  index % 2 === 0
    ? {
        index,
        codec_type: 'video',
        codec_name: 'h264',
        profile: 'High',
        level: 41,
        width: 1920,
        height: 1080,
        sample_aspect_ratio: '1:1',
        pix_fmt: 'yuv420p',
        avg_frame_rate: '24000/1001',
        r_frame_rate: '24000/1001',
        field_order: 'progressive',
        duration: '60.000000',
        bit_rate: '5000000',
        tags: { language: 'eng', title: `angle ${index}` },
      }
    : {
        index,
        codec_type: 'audio',
        codec_name: 'aac',
        sample_rate: '48000',
        channels: 2,
        channel_layout: 'stereo',
        duration: '60.000000',
        bit_rate: '128000',
        tags: { language: 'eng', title: `commentary ${index}` },
      };

const output = {
  streams: Array.from({ length: STREAMS }, (_, index) => stream(index)),
  format: { format_name: 'mov,mp4,m4a,3gp,3g2,mj2', duration: '60.0', size: '40000000', bit_rate: '5333333' },
  chapters: [],
};

/** Passing and failing ones, because a failure has to format its message. */
const CONDITIONS: readonly Condition[] = [
  { each: 'video', field: 'codec.name', in: ['h264', 'hevc', 'av1'] },
  { each: 'video', field: 'frame_rate', in: ['24000/1001', '25', '30000/1001'] },
  { each: 'video', when: { field: 'codec.name', is: 'h264' }, field: 'codec.level', 'at-most': '4.0' },
  {
    each: 'video',
    any: [
      {
        all: [
          { field: 'size.width', is: 1280 },
          { field: 'size.height', is: 720 },
        ],
      },
      {
        all: [
          { field: 'size.width', is: 3840 },
          { field: 'size.height', is: 2160 },
        ],
      },
    ],
  },
  { each: 'audio', field: 'title', matches: ['*music*', 'comm?ntary *'] },
  { each: 'audio', field: 'bitrate.average', between: ['96 kbit/s', '320 kbit/s'] },
  { each: 'stream', field: 'language', is: 'en' },
  { each: 'stream', field: 'duration', within: { field: 'container.duration' } },
  { tool: 'ffprobe', path: 'streams[codec_type=audio].channels', is: 2 },
  { disagreement: { of: ['*.duration'] } },
];

const rules = Array.from({ length: RULES }, (_, at) => ({
  name: `rule ${at}`,
  ...CONDITIONS[at % CONDITIONS.length]!,
}));
const policy = readPolicy({ rules });
const made = report({ ffprobe: { version: '9.0', output }, mediainfo: undefined, diff: true, prefer: null });
const text = JSON.stringify(made);

const tools = [{ name: 'ffprobe', version: '9.0', success: true, output: JSON.stringify(output) }];

const judge = () => evaluate(policy, { report: made, tools });
const parse = () => JSON.parse(text) as unknown;
const read = () => readPolicy({ rules });

const begun = performance.now();
judge();
const first = performance.now() - begun;
const times = undisturbed({ verdict: judge, 'JSON.parse of its text': parse, 'reading the policy': read }, runs);
console.log(`${RULES} rules, ${STREAMS} streams, a report of ${Math.round(text.length / 1024)} KiB`);
console.log(`the first verdict of a process: ${first.toFixed(1)} ms`);
for (const [what, taken] of Object.entries(times)) console.log(`${what}: ${inWords(taken)}`);
