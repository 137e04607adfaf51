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

/** How long something has gone on. `whole`: tenths would run beside other figures without a pause. */
export function Elapsed({ since, whole = false }: { since: number; whole?: boolean }) {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    setNow(performance.now());
    const timer = setInterval(() => setNow(performance.now()), whole ? 1_000 : 200);
    return () => clearInterval(timer);
  }, [since, whole]);
  const seconds = Math.max(0, now - since) / 1_000;
  return <span class="amount">{whole ? Math.round(seconds) : seconds.toFixed(1)} s</span>;
}
