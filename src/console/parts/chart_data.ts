/** What a chart shows, without how it is drawn. */
type Color = 'series-1' | 'series-2' | 'series-3' | 'text' | 'bad';

export interface Series {
  label: string;
  values: readonly (number | null)[];
  color: Color;
  /** `steps`: each value holds up to the next. `left` and `right`: bars beside one another. */
  as: 'steps' | 'line' | 'bars' | 'left' | 'right' | 'dots';
}

/** All that decides what is drawn: it is drawn anew where one of these objects is another one. */
export interface ChartData {
  /** Of each value; seconds since 1970 where it is a time. */
  x: readonly number[];
  series: readonly Series[];
  /** Behind the series, from one place to another. */
  bands?: readonly { from: number; to: number }[];
  /** Marks at the lower edge. */
  ticks?: readonly number[];
}
