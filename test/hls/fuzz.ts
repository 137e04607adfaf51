/**
 * Generated playlists: the examples of all rules, cut, doubled, mixed and flipped. Run directly, it continues for many
 * rounds.
 */
import assert from 'node:assert/strict';
import { Findings } from '../../src/media/hls/findings.ts';
import { judgePlaylist, decodePlaylist } from '../../src/media/hls/load.ts';
import { parsePlaylist } from '../../src/media/hls/parse.ts';
import { judgeAcross } from '../../src/media/hls/rules/across.ts';
import { RULES } from '../../src/media/hls/rules/catalog.ts';
import { judgeReload } from '../../src/media/hls/rules/reload.ts';
import { examplesOf } from './examples/index.ts';

const EXAMPLES = Object.keys(RULES)
  .flatMap((id) => Object.values(examplesOf(id)))
  .flatMap((example) => Object.values(example ?? {}).flat());
const WORDS = [
  '\r\n',
  '\n',
  ',',
  '"',
  '=',
  ':',
  '#EXT',
  '{$a}',
  '\u0000',
  '\ufeff',
  '99999999999999999999',
  '-1',
  '0x',
  'NaN',
  '1e400',
  '\ud800',
  '../',
  'http://[::1',
  '%',
  '@',
  'YES',
  '__proto__',
  'constructor',
];

export function fuzzHls(seed: number, rounds: number): number {
  let state = seed >>> 0 || 1;
  const random = (below: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!;
  let found = 0;
  let last: ReturnType<typeof read> | undefined;
  const read = (bytes: Buffer) => {
    const findings = new Findings();
    const note = findings.in('http://h/a.m3u8');
    const playlist = parsePlaylist(
      decodePlaylist(bytes, note),
      { url: 'http://h/a.m3u8', base: 'http://h/a.m3u8', parameter: () => undefined },
      note,
    );
    judgePlaylist(playlist, note);
    assert.ok(playlist.segments.every(({ sequence }) => sequence >= 0n));
    for (const { line, message } of findings.messages()) {
      assert.ok(
        Number.isInteger(line) && line >= 0 && line <= playlist.lines + 1,
        `line ${line} of ${playlist.lines}: ${message}`,
      );
      assert.ok(message.isWellFormed(), message);
    }
    return { playlist, findings };
  };
  for (let round = 0; round < rounds; round++) {
    let lines = pick(EXAMPLES).split('\n');
    for (let change = random(6); change >= 0; change--) {
      const at = random(lines.length + 1);
      const line = lines[at] ?? '';
      const cut = random(line.length + 1);
      switch (random(7)) {
        case 0:
          lines.splice(at, 1);
          break;
        case 1:
          lines.splice(at, 0, line);
          break;
        case 2:
          lines.splice(at, 0, pick(pick(EXAMPLES).split('\n')));
          break;
        case 3:
          lines[at] = line.slice(0, cut) + pick(WORDS) + line.slice(cut);
          break;
        case 4:
          lines[at] = line.slice(0, cut);
          break;
        case 5:
          lines = [...lines.slice(0, at), ...pick(EXAMPLES).split('\n').slice(random(4))];
          break;
        default:
          lines[at] = line.slice(0, cut) + String.fromCharCode(random(300)) + line.slice(cut + 1);
          break;
      }
    }
    const bytes = Buffer.from(lines.join('\n'));
    if (bytes.length > 0 && random(3) === 0) bytes[random(bytes.length)] = random(256);
    try {
      const now = read(bytes);
      found += now.findings.messages().length;
      if (last !== undefined) {
        judgeReload(last.playlist, now.playlist, () => {
          found++;
        });
        judgeAcross(
          last.playlist,
          [last, now].map(({ playlist }) => ({ url: '', playlist, role: 'variant' as const, codecs: undefined })),
          () => {
            found++;
          },
        );
      }
      last = now;
    } catch (error) {
      throw new Error(`seed ${seed}, round ${round}: ${JSON.stringify(bytes.toString('latin1'))}`, { cause: error });
    }
  }
  return found;
}

if (import.meta.main) {
  const rounds = Number(process.env['ROUNDS'] ?? 200_000);
  const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
  console.log(`seed ${seed}: ${rounds} playlists, ${fuzzHls(seed, rounds)} findings`);
}
