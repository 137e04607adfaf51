/** A value that pages follow: the address, the session, the token in use. */
import { useEffect, useState } from 'preact/hooks';

export interface Cell<T> {
  get(): T;
  set(value: T): void;
  follow(changed: () => void): () => void;
}

export function makeCell<T>(initial: T): Cell<T> {
  let value = initial;
  const followers = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const changed of followers) changed();
    },
    follow(changed) {
      followers.add(changed);
      return () => followers.delete(changed);
    },
  };
}

export function useCell<T>(cell: Cell<T>): T {
  const [, redraw] = useState({});
  const drawn = cell.get();
  useEffect(() => {
    // It may have changed between the drawing and this effect.
    if (!Object.is(cell.get(), drawn)) redraw({});
    return cell.follow(() => redraw({}));
  }, [cell]);
  return drawn;
}
