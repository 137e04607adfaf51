/** Reads a policy from what a caller sends: data, JSON, YAML or MediaConch's XML. */
import { RULES } from '../hls/rules/catalog.ts';
import { WARNING_CODES } from '../report/warning_codes.ts';
import { compile } from './compile.ts';
import { PolicyError, quoted, unknownName } from './error.ts';
import { globOf } from './glob.ts';
import { MOST_BYTES, MOST_XML_BYTES } from './limits.ts';
import { translate } from './mediaconch/translate.ts';
import { conditionsOf } from './needs.ts';
import { within } from './node.ts';
import type { Policy } from './schema.ts';
import type { Counted } from './types.ts';
import { yamlOf } from './yaml.ts';

const HLS_CODES = Object.keys(RULES).toSorted();

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
export function readPolicyText(text: string, mediaType: string): { policy: Policy; untranslated: string[] } {
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

/**
 * Codes that a policy names must exist: a misspelt one would never be found, and its rule always pass. Checked when a
 * policy is read, and not when it is judged: a saved policy outlives a code. The policy compiles: its members have
 * their forms.
 */
function checkCodes(policy: Policy): void {
  for (const [{ warnings, findings = {} }, at] of conditionsOf(policy)) {
    checkCounted(warnings, WARNING_CODES, 'a code of a warning', within(at, 'warnings'));
    for (const [level, counted] of Object.entries(findings) as [string, number | Counted][])
      checkCounted(counted, HLS_CODES, 'a code of the HLS validator', within(within(at, 'findings'), level));
  }
}

function checkCounted(counted: number | Counted | undefined, known: readonly string[], what: string, at: string): void {
  if (typeof counted !== 'object') return;
  for (const member of ['of', 'except'] as const) {
    const given = counted[member];
    if (given === undefined) continue;
    const list = Array.isArray(given) ? given : [given];
    for (const [index, text] of list.entries()) {
      const place = Array.isArray(given) ? within(within(at, member), index) : within(at, member);
      const glob = globOf(text, true);
      if (known.some((code) => glob.matches(code))) continue;
      if (/[*?]/.test(text))
        throw new PolicyError(place, `${quoted(text)} matches no code; known: ${known.join(', ')}`);
      throw unknownName(place, what, text, known);
    }
  }
}
