/** Times in the reader's zone; the exact one, in UTC, is one hover away. */
import { useEffect, useState } from 'preact/hooks';
import { dateTime, type Figure } from './figures.ts';

export function Time({ iso }: { iso: string }) {
  return (
    <time dateTime={iso} title={iso}>
      {dateTime(iso)}
    </time>
  );
}

export function Amount({ value, unit }: Figure) {
  return (
    <span class="amount">
      {value} <span class="unit">{unit}</span>
    </span>
  );
}

/** How long something has gone on: counts while it is shown. */
export function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 200);
    return () => clearInterval(timer);
  }, []);
  return <span class="amount">{(Math.max(0, now - since) / 1000).toFixed(1)} s</span>;
}
