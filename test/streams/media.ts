/** What the sources of the tests hold: made once per run by ffmpeg. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export function makeMedia(folder: string): void {
  const ffmpeg = (...args: string[]): void =>
    void execFileSync('ffmpeg', ['-nostdin', '-v', 'error', '-y', ...args], { cwd: folder });
  for (const name of ['hls', 'aes', 'ranges', 'fmp4', 'dash', 'based'])
    mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'aes/key.bin'), '0123456789abcdef');
  writeFileSync(join(folder, 'keys'), 'key.bin\naes/key.bin\n00000000000000000000000000000001\n');
  ffmpeg(
    '-f',
    'lavfi',
    '-i',
    'testsrc2=size=160x120:rate=25:duration=6',
    '-f',
    'lavfi',
    '-i',
    'sine=duration=6',
    '-c:v',
    'libx264',
    '-preset',
    'ultrafast',
    '-g',
    '25',
    '-c:a',
    'aac',
    '-threads',
    '1',
    'a.mp4',
  );
  ffmpeg('-i', 'a.mp4', '-c', 'copy', 'a.ts');
  ffmpeg(
    '-f',
    'lavfi',
    '-i',
    'testsrc2=size=160x120:rate=25:duration=6',
    '-f',
    'lavfi',
    '-i',
    'sine=duration=6:sample_rate=8000',
    '-c:v',
    'libx265',
    '-preset',
    'ultrafast',
    '-x265-params',
    'log-level=none:pools=1:keyint=25',
    '-c:a',
    'pcm_mulaw',
    '-ac',
    '1',
    'hevc.mkv',
  );
  const hls = (name: string, ...more: string[]): void =>
    ffmpeg(
      '-i',
      'a.mp4',
      '-c',
      'copy',
      '-f',
      'hls',
      '-hls_time',
      '2',
      '-hls_list_size',
      '0',
      ...more,
      `${name}/list.m3u8`,
    );
  hls('hls', '-master_pl_name', 'master.m3u8', '-hls_segment_filename', 'hls/s%d.ts');
  hls('aes', '-hls_key_info_file', 'keys', '-hls_segment_filename', 'aes/s%d.ts');
  hls('ranges', '-hls_flags', 'single_file', '-hls_segment_filename', 'ranges/all.ts');
  hls('fmp4', '-hls_segment_type', 'fmp4', '-hls_segment_filename', 'fmp4/s%d.m4s');
  ffmpeg('-i', 'a.mp4', '-c', 'copy', '-f', 'dash', '-seg_duration', '2', 'dash/m.mpd');
  ffmpeg('-i', 'a.mp4', '-c', 'copy', '-f', 'dash', '-seg_duration', '2', '-single_file', '1', 'based/m.mpd');
}
