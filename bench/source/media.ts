import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

export const files = ['first.mp4', 'last.mp4', 'fragmented.mp4', 'a.mkv', 'a.ts'] as const;

/** Test files of 60 s and about 45 MB, generated once. */
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
