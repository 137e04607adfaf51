/** A policy that a caller sends as a text; what is wrong with it is a 400 that names the place. */
import { PolicyError } from '../../policy/error.ts';
import { readPolicyText, type ReadText } from '../../policy/read.ts';
import { invalid } from '../errors.ts';

export function policyInText(text: string, mediaType: string): ReadText {
  try {
    return readPolicyText(text, mediaType);
  } catch (error) {
    if (error instanceof PolicyError) throw invalid(error.path === '' ? 'policy' : error.path, error.message);
    throw error;
  }
}
