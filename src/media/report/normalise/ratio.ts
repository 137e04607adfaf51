/** Rates and ratios: fractions as text if they are exact, decimals if only these are known. */
import { numberOf } from '../json.ts';

export interface Fraction {
  numerator: number;
  denominator: number;
}

export function fractionOf(text: unknown): Fraction | undefined {
  if (typeof text !== 'string') return undefined;
  const found = /^(\d{1,12})[/:](\d{1,12})$/.exec(text.trim());
  const [numerator, denominator] = [Number(found?.[1]), Number(found?.[2])];
  return found && numerator > 0 && denominator > 0 ? { numerator, denominator } : undefined;
}

/** A rotation as players turn the picture: from 0 to 359. */
export const clockwise = (degrees: number): number => ((Math.round(degrees) % 360) + 360) % 360;

/** The form used in fields. */
export const written = ({ numerator, denominator }: Fraction): string => `${numerator}/${denominator}`;

/** Fast path: most texts are names, which saves two patterns each. */
const isName = (text: string): boolean => {
  const first = text.charCodeAt(0);
  return first > 0x39 && first < 0x7f;
};

export function valueOf(fraction: unknown): number | undefined {
  if (typeof fraction === 'string' && isName(fraction)) return undefined;
  const found = fractionOf(fraction);
  return found ? found.numerator / found.denominator : numberOf(fraction);
}

export function reduced({ numerator, denominator }: Fraction): Fraction {
  let [a, b] = [numerator, denominator];
  while (b > 0) [a, b] = [b, a % b];
  return { numerator: numerator / (a || 1), denominator: denominator / (a || 1) };
}

/** A rate given with three decimals: a whole number, one of the 1001 family, or thousandths. */
export function rateOf(decimal: number): Fraction {
  const whole = Math.round(decimal);
  if (whole > 0 && Math.abs(decimal - whole) < 0.0006) return { numerator: whole, denominator: 1 };
  const up = Math.ceil(decimal);
  if (Math.abs(decimal - (up * 1000) / 1001) < 0.0011) return { numerator: up * 1000, denominator: 1001 };
  return reduced({ numerator: Math.round(decimal * 1000), denominator: 1000 });
}
