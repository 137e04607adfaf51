/** Figures as people read them: 2.1 kB, 5.4 Mbit/s, 1.50 s, 3 streams. */
const scaled = (value: number, units: readonly string[], step: number): string => {
  let [figure, place] = [value, 0];
  while (figure >= step && place < units.length - 1) {
    figure /= step;
    place += 1;
  }
  return `${place === 0 ? figure : figure.toFixed(1)} ${units[place]}`;
};

export const bytes = (value: number): string => scaled(value, ['B', 'kB', 'MB', 'GB', 'TB'], 1_000);

export const bitRate = (value: number): string => scaled(value, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s'], 1_000);

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const minutes = seconds / 60;
  return minutes < 120 ? `${minutes.toFixed(1)} min` : `${(minutes / 60).toFixed(1)} h`;
}

export const several = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
