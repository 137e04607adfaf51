/** Reads a policy from what a caller sends: data, JSON, YAML or MediaConch's XML. */
import { checkCodes } from './codes.ts';
import { compile } from './compile.ts';
import { PolicyError } from './error.ts';
import { MOST_BYTES, MOST_XML_BYTES } from './limits.ts';
import { translate } from './mediaconch/translate.ts';
import type { Policy } from './types.ts';
import { yamlOf } from './yaml.ts';

/** The same policy as data of its own, checked. */
export function readPolicy(value: unknown): Policy {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    throw new PolicyError('', 'must be JSON');
  }
  if (text === undefined) throw new PolicyError('', 'must be an object with rules');
  if (Buffer.byteLength(text) > MOST_BYTES)
    throw new PolicyError('', `is ${Buffer.byteLength(text)} bytes long; at most ${MOST_BYTES} are accepted`);
  const policy = JSON.parse(text) as Policy;
  compile(policy);
  checkCodes(policy);
  return policy;
}

/** `untranslated`: what of a MediaConch policy has no rule here. */
export interface ReadText {
  policy: Policy;
  untranslated: string[];
}

export function readPolicyText(text: string, mediaType: string): ReadText {
  const type = mediaType.split(';')[0]!.trim().toLowerCase();
  const xml = /^(?:application|text)\/(?:[\w.+-]+\+)?xml$/.test(type);
  const most = xml ? MOST_XML_BYTES : MOST_BYTES;
  if (Buffer.byteLength(text) > most) throw new PolicyError('', `is larger than ${most} bytes`);
  if (xml) {
    const { policy, untranslated } = translate(text);
    return { policy: readPolicy(policy), untranslated };
  }
  if (/^application\/(?:[\w.+-]+\+)?json$/.test(type)) return { policy: readPolicy(jsonOf(text)), untranslated: [] };
  if (/^(?:application|text)\/(?:x-)?yaml$/.test(type)) return { policy: readPolicy(yamlOf(text)), untranslated: [] };
  throw new PolicyError('', `${type} is not accepted; accepted: application/json, application/yaml, application/xml`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new PolicyError('', 'is not valid JSON');
  }
}
