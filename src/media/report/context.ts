/** A compared field with its surroundings: everything that the rules and the model may use. */
import type { Compared, Comparison, Part } from './compare.ts';
import type { Surroundings } from './features.ts';
import type { ReportTool } from '../tools/probe_report.ts';
import { bothOf, FIRST, number, SECOND, sides, type Fields, type Sides } from './side.ts';
import type { WarningCode } from './warning_codes.ts';

export interface Context {
  comparison: Comparison;
  part: Part;
  compared: Compared;
  around: Surroundings;
}

/** Duration in seconds implied by the frame count and frame rate of one tool. */
export function impliedDuration(fields: Fields | undefined): number | undefined {
  const [frames, rate] = [number(fields, 'frames_count'), number(fields, 'frame_rate')];
  return frames !== undefined && rate !== undefined && rate > 0 ? frames / rate : undefined;
}

export const containersOf = (comparison: Comparison): Sides<Fields | undefined> =>
  sides((tool) => comparison[tool]?.container);

export const hasSign = ({ comparison }: Pick<Context, 'comparison'>, code: WarningCode): boolean =>
  bothOf(comparison).some((side) => side?.signs.some((sign) => sign.code === code));
export const closer = (a: number | undefined, b: number | undefined, to: number | undefined): ReportTool | undefined =>
  a === undefined || b === undefined || to === undefined || Math.abs(a - to) === Math.abs(b - to)
    ? undefined
    : Math.abs(a - to) < Math.abs(b - to)
      ? FIRST
      : SECOND;
