/**
 * Keeps one runner from filling the stream of chunks: it chooses its own subjects, so no limit of the stream bounds its
 * share.
 */
import { every } from '../../base/retry.ts';
import type { Bus } from './connect.ts';
import { asBusError, type BusError, isMissing } from './errors.ts';
import { STREAM } from './messages.ts';
import { managerOf } from './results.ts';

/**
 * A body has at most 256 MiB, in chunks of 512 KiB. A runner has one result at a time, but may send the next while the
 * last is being purged.
 */
const MOST_CHUNKS_OF_ONE = 640;
const LOOK_MS = 2_000;

/** Runners with more chunks than any genuine result has. */
export async function overfull(bus: Bus, most = MOST_CHUNKS_OF_ONE): Promise<string[]> {
  const manager = await managerOf(bus);
  const { state } = await manager.streams.info(STREAM.chunks);
  // The usual case: subjects are only queried if a runner may be over its share.
  if (state.messages <= most) return [];
  const listed = await manager.streams.info(STREAM.chunks, { subjects_filter: 'py.chunk.>' });
  const held = new Map<string, number>();
  for (const [subject, messages] of Object.entries(listed.state.subjects ?? {})) {
    const uid = subject.split('.')[2] ?? '';
    held.set(uid, (held.get(uid) ?? 0) + messages);
  }
  return [...held].filter(([, messages]) => messages > most).map(([uid]) => uid);
}

/** Purges the chunks of each such runner, after `onOver` has disconnected it. */
export function watchShares(
  bus: Bus,
  {
    onOver,
    onError,
    most,
    lookMs = LOOK_MS,
  }: { onOver: (uid: string) => Promise<void>; onError: (error: BusError) => void; most?: number; lookMs?: number },
): { stop(): void } {
  const look = async (): Promise<void> => {
    if (!bus.connected()) return;
    for (const uid of await overfull(bus, most)) {
      await onOver(uid);
      await (await managerOf(bus)).streams.purge(STREAM.chunks, { filter: `py.chunk.${uid}.>` });
    }
  };
  return every(lookMs, look, (error) => {
    // The stream was deleted or does not exist yet: the collectors create it.
    if (!isMissing(error)) onError(asBusError(error, 'shares of the chunk stream'));
  });
}
