/** How far confidence is from the share of right answers, and whether a correction fitted on other files helps. */
import { random } from './random.ts';

export interface Answered {
  file: number;
  field: string;
  weight: number;
  right: boolean;
  confidence: number;
}
/** From answers to the corrected confidence of another one. */
export type Correction = (fitted: readonly Answered[]) => (one: Answered) => number;

const BINS = 10;
const PARTS = 5;
const DRAWS = 1000;
const [LOW, HIGH] = [0.05, 0.95];

const sum = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((total, one) => total + of(one), 0);
const weightOf = ({ weight }: Answered): number => weight;
const rightOf = ({ weight, right }: Answered): number => (right ? weight : 0);

/** Expected calibration error: the difference between stated confidence and accuracy, over ten bins. */
export function calibrationError(all: readonly Answered[]): number {
  const bins = Array.from({ length: BINS }, (): Answered[] => []);
  for (const one of all) bins[Math.min(BINS - 1, Math.floor(one.confidence * BINS))]!.push(one);
  const off = sum(bins, (bin) => Math.abs(sum(bin, (one) => one.weight * one.confidence) - sum(bin, rightOf)));
  return off / (sum(all, weightOf) || 1);
}

/** Mean squared difference between confidence and outcome: unlike the error above, guessing the mean is no way out. */
export const brierScore = (all: readonly Answered[]): number =>
  sum(all, ({ weight, right, confidence }) => weight * (confidence - (right ? 1 : 0)) ** 2) / (sum(all, weightOf) || 1);

function groups(all: readonly Answered[], keyOf: (one: Answered) => string | number): Answered[][] {
  const by = new Map<string | number, Answered[]>();
  for (const one of all) by.set(keyOf(one), [...(by.get(keyOf(one)) ?? []), one]);
  return [...by.values()];
}

/** The error over drawn files: its 5th and 95th percentile. Answers on one file are not independent. */
export function spreadOf(all: readonly Answered[], draws: number = DRAWS): [number, number] {
  const files = groups(all, ({ file }) => file);
  const draw = random(1);
  const errors = Array.from({ length: draws }, () =>
    calibrationError(Array.from({ length: files.length }, () => draw.pick(files)).flat()),
  ).sort((a, b) => a - b);
  return [errors[Math.floor(draws * LOW)]!, errors[Math.floor(draws * HIGH)]!];
}

/** The mean error if every confidence were true: what chance alone makes of so few answers. */
export function chanceOf(all: readonly Answered[], draws: number = DRAWS): number {
  // The versions of a tool are right or wrong together.
  const fields = groups(all, ({ file, field }) => `${file} ${field}`);
  const draw = random(2);
  const one = () =>
    fields.flatMap((group) => {
      const at = draw.next();
      return group.map((answer) => ({ ...answer, right: at < answer.confidence }));
    });
  return sum(Array.from({ length: draws }, one), calibrationError) / draws;
}

/** Each answer with a confidence that was corrected by other files. */
export function crossFitted(all: readonly Answered[], correction: Correction): Answered[] {
  const files = [...new Set(all.map(({ file }) => file))].sort((a, b) => a - b);
  const partOf = new Map(files.map((file, index) => [file, index % PARTS]));
  return Array.from({ length: PARTS }, (_, part) => {
    const isIn = ({ file }: Answered) => partOf.get(file) === part;
    const correct = correction(all.filter((one) => !isIn(one)));
    return all.filter(isIn).map((one) => ({ ...one, confidence: correct(one) }));
  }).flat();
}

const EDGE = 0.005;
function logit(confidence: number): number {
  const inside = Math.min(1 - EDGE, Math.max(EDGE, confidence));
  return Math.log(inside / (1 - inside));
}
const sigmoid = (at: number): number => 1 / (1 + Math.exp(-at));
const ROUNDS = 60;
const PRIOR = 5;

/** Slope and offset of the logit by Newton's method, held near 1 and 0 by `prior` answers. */
function line(fitted: readonly Answered[], prior = PRIOR): { slope: number; offset: number } {
  let [slope, offset] = [1, 0];
  for (let round = 0; round < ROUNDS; round++) {
    let [g0, g1, h00, h01, h11] = [prior * (slope - 1), (prior * offset) / 4, prior, 0, prior / 4];
    for (const { weight, right, confidence } of fitted) {
      const at = logit(confidence);
      const said = sigmoid(slope * at + offset);
      const [off, bend] = [weight * (said - (right ? 1 : 0)), weight * said * (1 - said)];
      g0 += off * at;
      g1 += off;
      h00 += bend * at * at;
      h01 += bend * at;
      h11 += bend;
    }
    const determinant = h00 * h11 - h01 * h01;
    slope -= (g0 * h11 - g1 * h01) / determinant;
    offset -= (g1 * h00 - g0 * h01) / determinant;
  }
  return { slope, offset };
}

export const platt: Correction = (fitted) => {
  const { slope, offset } = line(fitted);
  return ({ confidence }) => sigmoid(slope * logit(confidence) + offset);
};

const kindOf = (field: string): string =>
  /duration|start_time|frames_count/.test(field)
    ? 'times'
    : (/bitrate|frame_rate/.exec(field)?.[0] ?? 'words and sizes');
/** A kind of field with few answers stays near the line of all. */
const KIND_PRIOR = 3;

const plattByKind: Correction = (fitted) => {
  const { slope, offset } = line(fitted);
  const own = new Map<string, number>();
  for (const group of groups(fitted, ({ field }) => kindOf(field))) {
    let more = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const said = (one: Answered) => sigmoid(slope * logit(one.confidence) + offset + more);
      const off = sum(group, (one) => one.weight * said(one)) - sum(group, rightOf) + (KIND_PRIOR * more) / 4;
      more -= off / (sum(group, (one) => one.weight * said(one) * (1 - said(one))) + KIND_PRIOR / 4);
    }
    own.set(kindOf(group[0]!.field), more);
  }
  return ({ confidence, field }) => sigmoid(slope * logit(confidence) + offset + (own.get(kindOf(field)) ?? 0));
};

/** Answers in a step of the isotonic correction, at least. */
const STEP = 10;

const isotonic: Correction = (fitted) => {
  const steps: { upTo: number; weight: number; right: number }[] = [];
  for (const one of fitted.toSorted((a, b) => a.confidence - b.confidence)) {
    steps.push({ upTo: one.confidence, weight: one.weight, right: rightOf(one) });
    for (let [before, last] = steps.slice(-2); before && last; [before, last] = steps.slice(-2)) {
      if (before.weight >= STEP && before.right / before.weight < last.right / last.weight) break;
      const { upTo } = last;
      steps.splice(-2, 2, { upTo, weight: before.weight + last.weight, right: before.right + last.right });
    }
  }
  const shareOf = ({ weight, right }: { weight: number; right: number }) => (right + 0.5) / (weight + 1);
  return ({ confidence }) => shareOf(steps.find(({ upTo }) => confidence <= upTo) ?? steps.at(-1)!);
};

export const CORRECTIONS: Readonly<Record<string, Correction>> = {
  'none (shipped)':
    () =>
    ({ confidence }) =>
      confidence,
  'slope and offset of the logit (Platt)': platt,
  'Platt, and an offset for each kind of field': plattByKind,
  'steps (isotonic)': isotonic,
};
