/** What pictures with a cursor share: they are as wide as their place, and pointer and keys move the cursor. */
import type { TargetedKeyboardEvent, TargetedPointerEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Until the place has been measured. */
const FIRST_WIDTH = 600;

export function useWidth() {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(FIRST_WIDTH);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(200, Math.floor(entry!.contentRect.width))));
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  return { place, width };
}

/** Of a pointer, from the left edge. */
export const pixelsOf = (event: TargetedPointerEvent<HTMLDivElement>): number =>
  event.clientX - event.currentTarget.getBoundingClientRect().left;

/** Keys with a modifier are the browser's. */
export const onKeys =
  (works: Readonly<Record<string, () => void>>) =>
  (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const work = works[event.key];
    if (!work || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    work();
  };
