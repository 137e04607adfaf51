/**
 * Bounds the bytes of chunked bodies that a collector holds at once, because joining, copying for Postgres and sending
 * take several times a body's size. First in, first out: a large body waits for room, and later ones wait behind it.
 */
export type BodyRoom = ReturnType<typeof makeBodyRoom>;

interface Waiter {
  bytes: number;
  grant(): void;
}

export function makeBodyRoom({ totalBytes, mostWaiting }: { totalBytes: number; mostWaiting: number }) {
  const waiters: Waiter[] = [];
  let used = 0;

  const take = (bytes: number): (() => void) => {
    used += bytes;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      used -= bytes;
      while (waiters.length > 0 && used + waiters[0]!.bytes <= totalBytes) waiters.shift()!.grant();
    };
  };

  return {
    used: (): number => used,
    /** Waits for room; a body larger than the total waits until it is alone. Null: too many are waiting already. */
    async reserve(wanted: number): Promise<(() => void) | null> {
      const bytes = Math.min(wanted, totalBytes);
      if (bytes === 0) return () => {};
      if (waiters.length === 0 && used + bytes <= totalBytes) return take(bytes);
      if (waiters.length >= mostWaiting) return null;
      return new Promise((resolve) => {
        waiters.push({ bytes, grant: () => resolve(take(bytes)) });
      });
    },
  };
}
