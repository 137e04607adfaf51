/** Figures as people read them: 2.1 kB, 5.4 Mbit/s. */
export const scaled = (value: number, units: readonly string[], step: number): string => {
  let [figure, place] = [value, 0];
  while (figure >= step && place < units.length - 1) {
    figure /= step;
    place += 1;
  }
  return `${place === 0 ? figure : figure.toFixed(1)} ${units[place]}`;
};

export const bytes = (value: number): string => scaled(value, ['B', 'kB', 'MB', 'GB', 'TB'], 1_000);
