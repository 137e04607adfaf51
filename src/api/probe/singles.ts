/** The endpoints that run one tool, in the order of the description. */
import { probeC2pa } from './c2pa.ts';
import { probeMsv } from './msv.ts';

export const SINGLES = [probeMsv, probeC2pa];
