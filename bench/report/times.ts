/** The duration of one report for a file of fifty streams, from the tools' text to the report's text. */
import { statSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { writePart } from '../../docs/tables/part.ts';
import { report } from '../../src/media/report/report.ts';
import { inWords, undisturbed } from '../undisturbed.ts';

const PAGE = new URL('../../docs/reports/report.md', import.meta.url).pathname;
const WEIGHTS = new URL('../../src/media/report/weights.json', import.meta.url);
const STREAMS = 50;
const RUNS = 2_000;

function wideOutputs(streams = STREAMS): { ffprobe: string; mediainfo: string } {
  const audio = Array.from({ length: streams - 1 }, (_, index) => index + 1);
  const disposition = Object.fromEntries(
    [
      'default',
      'dub',
      'original',
      'comment',
      'lyrics',
      'karaoke',
      'forced',
      'hearing_impaired',
      'visual_impaired',
      'clean_effects',
      'attached_pic',
    ].map((name) => [name, 0]),
  );
  return {
    ffprobe: JSON.stringify({
      streams: [
        {
          index: 0,
          codec_name: 'h264',
          profile: 'High',
          codec_type: 'video',
          codec_tag_string: 'avc1',
          codec_tag: '0x31637661',
          width: 1920,
          height: 1080,
          sample_aspect_ratio: '1:1',
          display_aspect_ratio: '16:9',
          pix_fmt: 'yuv420p',
          level: 40,
          field_order: 'progressive',
          r_frame_rate: '25/1',
          avg_frame_rate: '25/1',
          id: '0x1',
          duration: '10.000000',
          bit_rate: '4000000',
          nb_frames: '250',
          disposition,
        },
        ...audio.map((index) => ({
          index,
          codec_name: 'aac',
          profile: 'LC',
          codec_type: 'audio',
          codec_tag_string: 'mp4a',
          codec_tag: '0x6134706d',
          sample_rate: '48000',
          channels: 2,
          channel_layout: 'stereo',
          id: `0x${(index + 1).toString(16)}`,
          duration: '10.021333',
          bit_rate: '128000',
          nb_frames: '470',
          disposition,
          tags: { language: 'eng' },
        })),
      ],
      chapters: [],
      format: {
        format_name: 'mov,mp4,m4a,3gp,3g2,mj2',
        duration: '10.026000',
        size: '12000000',
        bit_rate: '9575104',
        tags: { major_brand: 'isom' },
      },
    }),
    mediainfo: JSON.stringify({
      media: {
        track: [
          {
            '@type': 'General',
            VideoCount: '1',
            AudioCount: String(audio.length),
            Format: 'MPEG-4',
            CodecID: 'isom',
            FileSize: '12000000',
            Duration: '10.026',
            OverallBitRate: '9575104',
          },
          {
            '@type': 'Video',
            StreamOrder: '0',
            ID: '1',
            Format: 'AVC',
            Format_Profile: 'High',
            Format_Level: '4',
            CodecID: 'avc1',
            Duration: '10.000',
            BitRate: '4120000',
            Width: '1920',
            Height: '1080',
            PixelAspectRatio: '1.000',
            DisplayAspectRatio: '1.778',
            FrameRate_Mode: 'CFR',
            FrameRate: '25.000',
            FrameCount: '250',
            ColorSpace: 'YUV',
            ChromaSubsampling: '4:2:0',
            BitDepth: '8',
            ScanType: 'Progressive',
          },
          // One field of each is disputed, which is the expensive case.
          ...audio.map((index) => ({
            '@type': 'Audio',
            StreamOrder: String(index),
            ID: String(index + 1),
            Format: 'AAC',
            Format_AdditionalFeatures: 'LC',
            CodecID: 'mp4a-40-2',
            Duration: '10.021',
            BitRate_Mode: 'CBR',
            BitRate: '134000',
            Channels: '2',
            ChannelLayout: 'L R',
            SamplingRate: '48000',
            Language: 'en',
          })),
        ],
      },
    }),
  };
}

/** The table of the cost of a report. It needs no files. */
export function costTable(): string {
  const outputs = wideOutputs();
  const make = () =>
    JSON.stringify(
      report({
        ffprobe: { version: '9.0', output: JSON.parse(outputs.ffprobe) },
        mediainfo: { version: '26.10', output: JSON.parse(outputs.mediainfo) },
        diff: true,
        prefer: null,
        extension: 'mp4',
      }),
    );
  const { one } = undisturbed({ one: make }, RUNS);
  return [
    '| | |',
    '|---|---|',
    `| one report, ${STREAMS} streams, parsing included, at a load of ${loadavg()[0]!.toFixed(1)} on ` +
      `${cpus().length} cores | ${inWords(one)} |`,
    `| size of the weights | ${(statSync(WEIGHTS).size / 1000).toFixed(0)} kB |`,
  ].join('\n');
}

if (import.meta.main) writePart(PAGE, 'cost', costTable());
