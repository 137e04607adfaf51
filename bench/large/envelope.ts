/**
 * The cost of an envelope of 50 MB (`show_frames` of a long file) in the runner, a collector and the API, each in a
 * separate process, and the cost of reading it at once.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { body, good } from '../../test/result/result_samples.ts';
import { packText } from '../../test/result/text_body.ts';
import { one, type Measurement, type Row } from '../measurement.ts';

const BYTES = 50_000_000;

const frame = (index: number) => ({
  media_type: 'video',
  stream_index: 0,
  key_frame: index % 50 === 0 ? 1 : 0,
  pts: index * 512,
  pts_time: (index * 0.0417).toFixed(6),
  pkt_dts: index * 512,
  best_effort_timestamp_time: (index * 0.0417).toFixed(6),
  pkt_duration: 512,
  pkt_pos: String(48 + index * 3_817),
  pkt_size: String(1_000 + ((index * 7_919) % 9_000)),
  width: 1920,
  height: 1080,
  pix_fmt: 'yuv420p',
  sample_aspect_ratio: '1:1',
  pict_type: 'PBI'[index % 3],
  coded_picture_number: index,
});

export const largeEnvelope: Measurement = {
  name: 'large',
  title: 'an envelope of 50 MB: time and peak memory of each role, in a process of its own',
  async measure(report) {
    const folder = mkdtempSync(join(tmpdir(), 'probeyard-large-'));
    try {
      const frames: string[] = [];
      for (let size = 0, index = 0; size < BYTES; index++)
        size += frames[frames.push(JSON.stringify(frame(index), null, 4)) - 1]!.length + 2;
      const output = `{\n"frames": [\n${frames.join(',\n')}\n]}\n`;
      const raw = join(folder, 'output');
      const packed = join(folder, 'packed');
      writeFileSync(raw, output);
      const result = packText(body([good('ffprobe', output, { version: '7.0' })]));
      writeFileSync(packed, result.packed);
      const rows: Row[] = [];
      for (const step of ['runner', 'collector', 'api']) {
        const ran = spawnSync(
          process.execPath,
          [join(import.meta.dirname, 'step.ts'), step, step === 'runner' ? raw : packed, String(result.size)],
          { encoding: 'utf8', maxBuffer: 1 << 20 },
        );
        if (ran.status !== 0) throw new Error(`${step}: ${ran.stderr.slice(0, 500)}`);
        const { ms, before, peak, gave } = JSON.parse(ran.stdout) as {
          ms: number;
          before: number;
          peak: number;
          gave: number;
        };
        report(`${step}: ${Math.round(ms)} ms, ${Math.round(before)} → ${Math.round(peak)} MB (${gave})`);
        rows.push({ name: `large-${step}-ms`, what: `${step}: its part of the work`, unit: 'ms', values: one(ms) });
        rows.push({
          name: `large-${step}-mb`,
          what: `${step}: peak above what it had before`,
          unit: 'MB',
          values: one(peak - before),
        });
      }
      return rows;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
