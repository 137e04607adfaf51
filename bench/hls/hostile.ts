/** The validator process on hostile playlists, with the time, memory and result of each. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';

const HEAD = '#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:6\n';
const repeat = (count: number, line: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => line(n)).join('');

export const HOSTILE: Record<string, () => string | Buffer> = {
  '100 MB of segments': () =>
    `${HEAD}${repeat(2_400_000, (n) => `#EXTINF:6,\nvideo/segment-${String(n).padStart(12, '0')}.ts\n`)}`,
  '1,000,000 lines': () => `${HEAD}${repeat(500_000, (n) => `#EXTINF:6,\n${n}.ts\n`)}`,
  '20,000,000 lines of one letter': () => `${HEAD}${'a\n'.repeat(20_000_000)}`,
  'one line of 40 MB': () => `${HEAD}#EXTINF:6,${'x'.repeat(40 << 20)}\na.ts\n`,
  'an attribute list of 40 MB': () =>
    `${HEAD}#EXT-X-DATERANGE:${repeat(2_000_000, (n) => `X-${n}="0123456789",`)}\n#EXTINF:6,\na.ts\n`,
  '500,000 date ranges': () =>
    `${HEAD}${repeat(500_000, (n) => `#EXT-X-DATERANGE:ID="${n}",START-DATE="2026-01-01T00:00:00Z"\n`)}` +
    '#EXTINF:6,\na.ts\n',
  '500,000 parts of no segment': () => `${HEAD}${repeat(500_000, (n) => `#EXT-X-PART:DURATION=1,URI="${n}"\n`)}`,
  '500,000 keys before one segment': () =>
    `${HEAD}${repeat(500_000, (n) => `#EXT-X-KEY:METHOD=AES-128,URI="k",KEYFORMAT="${n}"\n`)}#EXTINF:6,\na.ts\n`,
  'variables that double 60 times': () =>
    `${HEAD}#EXT-X-DEFINE:NAME="v0",VALUE="0123456789"\n` +
    `${repeat(60, (n) => `#EXT-X-DEFINE:NAME="v${n + 1}",VALUE="{$v${n}}{$v${n}}"\n`)}#EXTINF:6,\n{$v60}\n`,
  '200,000 variants': () => `#EXTM3U\n${repeat(200_000, (n) => `#EXT-X-STREAM-INF:BANDWIDTH=1\nself.m3u8?${n}\n`)}`,
  'a playlist that names itself': () => '#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n',
  'UTF-16': () => Buffer.from(`\ufeff${HEAD}#EXTINF:6,\na.ts\n`, 'utf16le'),
  'a page of HTML': () => '<!DOCTYPE html><html><body>Sign in</body></html>\n'.repeat(1000),
  'random bytes': () => Buffer.from(Array.from({ length: 1 << 20 }, (_, n) => (n * 7919 + (n >> 8) * 104_729) & 255)),
  nothing: () => '',
};

export interface Outcome {
  name: string;
  ms: number;
  peakMb: number;
  said: string;
}

/** Started as in a runner, with the same memory. */
export async function judgeHostile(name: string): Promise<Outcome> {
  const body = HOSTILE[name]!();
  const server = createServer((request, response) => {
    response
      .writeHead(request.url?.startsWith('/a.m3u8') || request.url?.startsWith('/self') ? 200 : 404, {
        'content-type': 'application/vnd.apple.mpegurl',
      })
      .end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const begun = performance.now();
  const script =
    `process.on('exit', () => process.stderr.write('PEAK ' + process.resourceUsage().maxRSS)); ` +
    `process.argv.splice(1, 0, 'x'); await ` +
    `import(${JSON.stringify(join(import.meta.dirname, '../../src/media/hls/program.ts'))});`;
  const child = spawn(
    process.execPath,
    [
      '--max-old-space-size=640',
      '--input-type=module',
      '-e',
      script,
      `http://127.0.0.1:${(server.address() as { port: number }).port}/a.m3u8`,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const [out, errors]: [Buffer[], string[]] = [[], []];
  child.stdout.on('data', (part: Buffer) => out.push(part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => errors.push(part));
  const [code] = (await once(child, 'close')) as [number | null];
  const ms = performance.now() - begun;
  server.close();
  server.closeAllConnections();
  const peak = Number(/PEAK (\d+)/.exec(errors.join(''))?.[1] ?? 0) / 1024;
  if (code !== 0) return { name, ms, peakMb: peak, said: `exit code ${code}: ${errors.join('').split('\n')[0]}` };
  const report = JSON.parse(Buffer.concat(out).toString()) as {
    error?: string;
    summary: { must_fix: number; segments: number };
  };
  return { name, ms, peakMb: peak, said: report.error ?? `good, ${report.summary.segments} segments` };
}
