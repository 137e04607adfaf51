/** The width of a place, for pictures that are as wide. */
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
