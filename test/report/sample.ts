/** Output of both tools for files that were generated for this purpose. See bench/report. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { report, type Input } from '../../src/media/report/report.ts';
import { ProbeReportSchema, type ProbeReport } from '../../src/media/report/schema.ts';
import { conformsTo } from '../conforms.ts';

const assertForm = conformsTo(ProbeReportSchema);

type Outputs = Record<string, unknown>;
export const SAMPLES = [
  'picture_and_sound.mkv',
  'quad_sound.flv',
  'layer_two.mp4',
  'sound_only.ts',
  'time_code.mov',
  'elementary.ac3',
];
export const outputsOf = (name: string): Outputs =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'outputs', `${name}.json`), 'utf8')) as Outputs;

export function inputOf(name: string, more: Partial<Input> = {}, versions: [string, string] = ['9.0', '26.10']): Input {
  const outputs = outputsOf(name);
  return {
    ffprobe: { version: versions[0], output: outputs[`ffprobe ${versions[0]}`] },
    mediainfo: { version: versions[1], output: outputs[`mediainfo ${versions[1]}`] },
    diff: true,
    prefer: null,
    extension: name.split('.').pop(),
    ...more,
  };
}

export function reportOf(input: Input): ProbeReport {
  const made = report(input);
  if (!made) throw new Error('there is no report');
  // Serialised, as callers get it.
  assertForm(JSON.parse(JSON.stringify(made)));
  return made;
}

const DISPOSITION = { attached_pic: 0, default: 1, forced: 0 };
/** One picture as both tools report it. `more` changes the values of each. */
export function picture(
  ffprobe: object = {},
  mediainfo: object = {},
  container: { ffprobe?: object; mediainfo?: object } = {},
): Input {
  return {
    ffprobe: {
      version: '9.0',
      output: {
        streams: [
          {
            index: 0,
            codec_type: 'video',
            codec_name: 'h264',
            profile: 'High',
            level: 31,
            codec_tag_string: 'avc1',
            codec_tag: '0x31637661',
            width: 1280,
            height: 720,
            sample_aspect_ratio: '1:1',
            display_aspect_ratio: '16:9',
            pix_fmt: 'yuv420p',
            avg_frame_rate: '25/1',
            r_frame_rate: '25/1',
            field_order: 'progressive',
            duration: '4.000000',
            start_time: '0.000000',
            nb_frames: '100',
            bit_rate: '1000000',
            disposition: DISPOSITION,
            ...ffprobe,
          },
        ],
        chapters: [],
        format: {
          format_name: 'mov,mp4,m4a,3gp,3g2,mj2',
          duration: '4.000000',
          size: '520000',
          bit_rate: '1040000',
          tags: { major_brand: 'isom' },
          ...container.ffprobe,
        },
      },
    },
    mediainfo: {
      version: '26.10',
      output: {
        media: {
          track: [
            {
              '@type': 'General',
              Format: 'MPEG-4',
              CodecID: 'isom',
              Duration: '4.000',
              FileSize: '520000',
              OverallBitRate: '1040000',
              ...container.mediainfo,
            },
            {
              '@type': 'Video',
              StreamOrder: '0',
              ID: '1',
              Format: 'AVC',
              Format_Profile: 'High',
              Format_Level: '3.1',
              CodecID: 'avc1',
              Width: '1280',
              Height: '720',
              PixelAspectRatio: '1.000',
              DisplayAspectRatio: '1.778',
              ChromaSubsampling: '4:2:0',
              BitDepth: '8',
              ColorSpace: 'YUV',
              FrameRate_Mode: 'CFR',
              FrameRate: '25.000',
              FrameCount: '100',
              ScanType: 'Progressive',
              Duration: '4.000',
              BitRate: '1000000',
              ...mediainfo,
            },
          ],
        },
      },
    },
    diff: true,
    prefer: null,
    extension: 'mp4',
  };
}
