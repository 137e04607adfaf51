/**
 * Validates one presentation: each playlist alone and all together, then optionally the segments that they refer to.
 */
import { pause } from '../../base/retry.ts';
import { makeTurns } from '../../base/turns.ts';
import { resolveReference } from '../../source/address/target.ts';
import { Findings } from './findings.ts';
import { LIMITS, type Limits } from './limits.ts';
import { loadPlaylist, type Loading } from './load.ts';
import { measure, type Measured } from './measure.ts';
import type { Origin } from './origin.ts';
import { isLive, text, type Playlist } from './playlist.ts';
import { judgeAcross, type Member } from './rules/across.ts';
import { judgeReload } from './rules/reload.ts';

export interface Options {
  origin: Origin;
  timeMs: number;
  limits?: Partial<Limits>;
  /** Absent: only playlists. `probeCommand`: the command that measures a segment. `all`: not a sample alone. */
  measure?: { probeCommand: readonly string[] | undefined; all?: boolean } | undefined;
  /** Whether the report shows the lines of playlists. */
  keepsText?: boolean;
  /** Whether live playlists are reloaded; implied by `measure`. */
  watch?: boolean;
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

export type Presentation = Awaited<ReturnType<typeof validate>>;

/** The source itself could not be read. */
export class UnreadableError extends Error {
  readonly code = 'source-unreadable';
}

export async function validate({
  origin,
  timeMs,
  limits: given,
  measure: measuring,
  keepsText = false,
  watch = measuring !== undefined,
  wait = pause,
}: Options) {
  const limits = { ...LIMITS, ...given };
  const findings = new Findings();
  const deadline = performance.now() + timeMs;
  const signal = AbortSignal.timeout(Math.max(1, Math.floor(timeMs)));
  const left = { bytes: limits.presentationBytes, lines: limits.presentationLines };
  const base = { origin, findings, limits, signal };
  const reading = { ...base, left, keepsText, until: performance.now() + READING * timeMs };
  const loaded = await loadPlaylist({ ...reading, url: undefined });
  if (!loaded.ok) throw new UnreadableError(loaded.error);
  const main = loaded.playlist;
  const members = main.kind === 'multivariant' ? await loadMembers(main, reading) : [];
  if (main.kind === 'multivariant')
    judgeAcross(main, members, (playlist, rule, line, detail) => findings.in(playlist.url)(rule, line, detail));

  let reloads = 0;
  if (watch) {
    const live: readonly { url: string | undefined; playlist: Playlist }[] =
      main.kind === 'media' ? [{ url: undefined, playlist: main }] : members;
    reloads = await watchLive(
      live.filter(({ playlist }) => isLive(playlist)).slice(0, limits.reloaded),
      { ...base, imports: main.variables },
      { deadline, wait, limits },
    );
  }
  const measured: Measured =
    measuring === undefined
      ? { playlists: new Map(), variants: new Map() }
      : await measure({ ...base, main, members, deadline, all: false, ...measuring });
  return { main, members, findings, measured, reloads };
}

/** Share of the available time for reading; the rest is for checking. */
const READING = 0.7;

const ROLES: Readonly<Record<string, Member['role']>> = { AUDIO: 'audio', VIDEO: 'video', SUBTITLES: 'subtitles' };

interface Wanted extends Pick<Member, 'role' | 'codecs'> {
  line: number;
}

async function loadMembers(main: Playlist, base: Omit<Loading, 'url'>): Promise<Member[]> {
  const wanted = new Map<string, Wanted>();
  const add = (reference: string, role: Member['role'], codecs: string | undefined, line: number): void => {
    const url = resolveReference(main.base, reference);
    if (url !== undefined && !wanted.has(url)) wanted.set(url, { role, codecs, line });
  };
  for (const { tag, uri, line, iframes } of main.variants)
    add(uri, iframes ? 'iframes' : 'variant', text(tag, 'CODECS'), line);
  for (const { tag, type, uri } of main.renditions)
    if (uri !== undefined && ROLES[type] !== undefined) add(uri, ROLES[type], undefined, tag.line);
  const list = [...wanted].slice(0, base.limits.playlists);

  let unread = wanted.size - list.length;
  const { left, until = Infinity, signal } = base;
  const over = (): boolean =>
    signal.aborted || performance.now() > until || (left !== undefined && (left.bytes <= 0 || left.lines <= 0));
  const note = base.findings.in(main.url);
  const load = async (url: string, { role, codecs, line }: Wanted): Promise<Member[]> => {
    if (over()) {
      unread += 1;
      return [];
    }
    const loaded = await loadPlaylist({ ...base, url, imports: main.variables });
    if (!loaded.ok) note('playlist-unreadable', line, `${loaded.shown}: ${loaded.error}`);
    else if (loaded.playlist.kind === 'multivariant') note('playlist-nested', line, loaded.playlist.url);
    else return [{ url, playlist: loaded.playlist, role, codecs }];
    return [];
  };
  const turns = makeTurns(base.limits.parallel);
  const members = await Promise.all(list.map(([url, how]) => turns.run(() => load(url, how))));
  if (unread > 0) note('playlists-unread', 1, `${wanted.size - unread} of ${wanted.size} were read`);
  return members.flat();
}

interface Watching {
  deadline: number;
  wait: NonNullable<Options['wait']>;
  limits: Limits;
}

/** Watched concurrently. */
async function watchLive(
  live: readonly { url: string | undefined; playlist: Playlist }[],
  base: Omit<Loading, 'url'>,
  { deadline, wait, limits }: Watching,
): Promise<number> {
  const counts = await Promise.all(
    live.map(async ({ url, playlist }) => {
      let before = playlist;
      let changedAt = performance.now();
      let reloads = 0;
      const note = base.findings.in(playlist.url);
      let pauseMs = (playlist.targetDuration ?? 6) * 1000;
      for (; reloads < limits.reloads && !before.ended; reloads++) {
        const step = Math.min(Math.max(pauseMs, 500), 30_000);
        // The rest of the time is for measuring.
        if (performance.now() + step > deadline - 5_000 || base.signal.aborted) break;
        await wait(step, base.signal);
        const loaded = await loadPlaylist({ ...base, url, anew: true, quiet: true });
        if (!loaded.ok) {
          note('reload-unreadable', 1, loaded.error);
          break;
        }
        const after = loaded.playlist;
        judgeReload(before, after, note);
        const same =
          after.lines === before.lines &&
          after.mediaSequence === before.mediaSequence &&
          after.segments.length === before.segments.length &&
          after.openParts.length === before.openParts.length &&
          after.ended === before.ended;
        const target = (after.targetDuration ?? 6) * 1000;
        if (!same) changedAt = performance.now();
        else if (performance.now() - changedAt > 1.5 * target) {
          const seconds = ((performance.now() - changedAt) / 1000).toFixed(1);
          note(
            'reload-stale',
            after.lines,
            `unchanged for ${seconds} s, and the target duration is ${target / 1000} s`,
          );
          changedAt = performance.now();
        }
        // Like players: sooner after an unchanged playlist.
        pauseMs = same ? target / 2 + 50 : target;
        if (after.kind !== 'media') break;
        before = after;
      }
      return reloads;
    }),
  );
  return Math.max(0, ...counts);
}
