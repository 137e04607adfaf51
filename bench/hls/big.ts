/**
 * Runs one validator on one large playlist in a separate process. Prints the CPU time in milliseconds, which other load
 * hardly affects, and the peak memory.
 */
import { hlsParser, m3u8Parser, m3u8parse, ours } from './validators.ts';

const [name = '', segments = '100000'] = process.argv.slice(2);

const lines = [
  '#EXTM3U',
  '#EXT-X-VERSION:6',
  '#EXT-X-TARGETDURATION:6',
  '#EXT-X-PLAYLIST-TYPE:VOD',
  '#EXT-X-MAP:URI="init.mp4"',
];
for (let n = 0; n < Number(segments); n++) {
  if (n % 10 === 0) lines.push(`#EXT-X-PROGRAM-DATE-TIME:${new Date(Date.UTC(2026, 0, 1) + n * 6000).toISOString()}`);
  lines.push('#EXTINF:6.000,', `video/segment-${String(n).padStart(7, '0')}.m4s`);
}
lines.push('#EXT-X-ENDLIST', '');
const bytes = Buffer.from(lines.join('\n'));
lines.length = 0;

const validator = await (
  { ours: () => ours, hlsParser, m3u8Parser, m3u8parse } as Record<string, () => typeof ours | Promise<typeof ours>>
)[name]!();
const before = process.memoryUsage().rss;
const begun = process.cpuUsage();
const found = validator.judge(bytes);
const used = process.cpuUsage(begun);
const ms = (used.user + used.system) / 1000;
console.log(
  JSON.stringify({
    ms,
    peakMb: process.resourceUsage().maxRSS / 1024,
    beforeMb: before / 2 ** 20,
    found: found.length,
  }),
);
