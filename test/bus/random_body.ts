import { randomBytes } from 'node:crypto';
import type { TextBody } from '../result/text_body.ts';
import { body, good } from '../result/result_samples.ts';

/** The body of a result whose output is so many characters that cannot be compressed much. */
export const randomBody = (characters = 100): TextBody =>
  body([good('ffprobe', randomBytes(Math.ceil(characters / 2)).toString('hex'), { format: 'text' })]);
