import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const files = ['first.mp4', 'last.mp4', 'fragmented.mp4', 'a.mkv', 'a.ts'] as const;
export const moreFiles = [
  'skips.mp4',
  'a.mxf',
  'a.wav',
  'a.flac',
  'cover.mp3',
  'hls/main.m3u8',
  'dash/main.mpd',
] as const;

/** Test files of 60 s and about 45 MB, the others of 4 to 35 MB, generated once. */
export function makeMedia(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const ffmpeg = (...args: string[]): void =>
    void execFileSync('ffmpeg', ['-v', 'error', '-y', ...args], { cwd: folder });
  if (!existsSync(join(folder, 'last.mp4'))) {
    ffmpeg(
      '-f',
      'lavfi',
      '-i',
      'testsrc2=size=1280x720:rate=25:duration=60',
      '-f',
      'lavfi',
      '-i',
      'sine=frequency=440:duration=60',
      '-c:v',
      'libx264',
      '-preset',
      'ultrafast',
      '-b:v',
      '5900k',
      '-minrate',
      '5900k',
      '-maxrate',
      '5900k',
      '-bufsize',
      '2M',
      '-x264-params',
      'nal-hrd=cbr:force-cfr=1',
      '-g',
      '50',
      '-c:a',
      'aac',
      '-b:a',
      '96k',
      '-threads',
      '2',
      'last.mp4',
    );
  }
  const variants: Record<string, string[]> = {
    'first.mp4': ['-movflags', '+faststart'],
    'fragmented.mp4': ['-movflags', 'frag_keyframe+empty_moov', '-frag_duration', '4000000'],
    'a.mkv': [],
    'a.ts': [],
  };
  for (const [name, options] of Object.entries(variants)) {
    if (!existsSync(join(folder, name))) ffmpeg('-i', 'last.mp4', '-c', 'copy', ...options, name);
  }
}

/** MXF, sound with and without a large cover, and playlists of the same film. */
export function makeMoreMedia(folder: string): void {
  const make = (name: string, ...args: string[]): void => {
    if (existsSync(join(folder, name))) return;
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    execFileSync('ffmpeg', ['-v', 'error', '-y', ...args, name], { cwd: folder });
  };
  const copied = ['-i', 'last.mp4', '-c', 'copy'];
  const sound = [
    '-f',
    'lavfi',
    '-i',
    'anoisesrc=duration=200:sample_rate=44100',
    '-ac',
    '2',
    '-metadata',
    'title=Sound',
  ];
  // Half a second each: the tools skip from one to the next, with a request for each of 120.
  make('skips.mp4', ...copied, '-movflags', 'empty_moov+default_base_moof+skip_trailer', '-frag_duration', '500000');
  make('a.mxf', '-i', 'last.mp4', '-t', '20', '-c:v', 'mpeg2video', '-b:v', '10M', '-c:a', 'pcm_s16le', '-ar', '48000');
  make('a.wav', ...sound);
  make('a.flac', ...sound);
  // Noise does not compress: the picture has 0.9 MB.
  make('cover.png', '-f', 'lavfi', '-i', 'nullsrc=s=800x800,geq=random(1)*255:128:128', '-frames:v', '1');
  const inputs = ['-f', 'lavfi', '-i', 'sine=duration=200', '-i', 'cover.png', '-map', '0', '-map', '1'];
  const encoded = ['-c:a', 'libmp3lame', '-b:a', '128k', '-c:v', 'copy', '-id3v2_version', '3'];
  make('cover.mp3', ...inputs, ...encoded, '-disposition:v', 'attached_pic');
  make('hls/main.m3u8', ...copied, '-hls_time', '4', '-hls_playlist_type', 'vod');
  make('dash/main.mpd', ...copied, '-f', 'dash', '-seg_duration', '4');
}

/** A certificate for 127.0.0.1 with its own authority. */
export function makeCertificate(folder: string): { cert: string; key: string } {
  mkdirSync(folder, { recursive: true });
  const cert = join(folder, 'cert.pem');
  const key = join(folder, 'key.pem');
  if (!existsSync(cert)) {
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '3650',
        '-subj',
        '/CN=origin',
        '-addext',
        'subjectAltName=IP:127.0.0.1,DNS:localhost',
        '-keyout',
        key,
        '-out',
        cert,
      ],
      { stdio: 'ignore' },
    );
  }
  return { cert, key };
}
