/** What one condition comes to, and how it is told. Texts are made only for what a result shows. */
import type { Outcome } from './types.ts';

/** As a condition knows it: whether a failure is a warning is its rule's to say. */
export type Came = Exclude<Outcome, 'warn'>;

export interface Told {
  message: string;
  stream?: string;
  field?: string;
  actual?: string;
  expected?: string;
  from?: string;
  confidence?: number;
}

export interface Finding {
  readonly came: Came;
  /** How far from passing, from 0 to 1: the nearest branch of `any` is the one that is told. Asked for seldom. */
  far(): number;
  tell(): Told;
  /** Of several that came to the same: the first few, `tell` being the first, and how many there are. */
  readonly alike?: { first: readonly Finding[]; count: number };
}

const NEAR = (): number => 0;
const FAR = (): number => 1;
export const passed = (tell: () => Told): Finding => ({ came: 'pass', far: NEAR, tell });
export const failed = (far: number, tell: () => Told): Finding => ({ came: 'fail', far: () => far, tell });
export const unknown = (tell: () => Told): Finding => ({ came: 'unknown', far: FAR, tell });
export const notApplicable = (tell: () => Told): Finding => ({ came: 'not-applicable', far: FAR, tell });

export const noReport = (told: Omit<Told, 'message'> = {}): Finding =>
  unknown(() => ({ message: 'there is no probe_report of the file', ...told }));
export const EXHAUSTED: Finding = unknown(() => ({
  message: 'not judged: the policy is too much work for a file with so many streams',
}));
