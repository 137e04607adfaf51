/** Reads a policy from what a caller sends: data, JSON, YAML or MediaConch's XML. */
import { type Document, isScalar, Lexer, parseDocument, visit } from 'yaml';
import { RULES } from '../hls/rules/catalog.ts';
import { WARNING_CODES } from '../report/warning_codes.ts';
import { compile } from './compile.ts';
import { PolicyError, quoted, unknownName } from './error.ts';
import { globOf } from './glob.ts';
import { MOST_BYTES, MOST_XML_BYTES } from './limits.ts';
import { translate } from './mediaconch.ts';
import { conditionsOf } from './needs.ts';
import { within } from './node.ts';
import type { Policy } from './schema.ts';
import type { Counted } from './types.ts';

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

// Policies as plain YAML: no anchors, no tags, no directives, no repeated member, and names of members that are
// text. The tokens are checked first, because the parser's own work is not bounded: 60 KB of quotes, or of members
// of one map, take it half a second, and each level of nesting is a call within a call.

/** Tokens of a policy with 64 KB: the policies of the chart have one in three bytes. */
const MOST_TOKENS = 24_000;
/** Brackets within one another. */
const MOST_BRACKETS = 32;
/**
 * Columns before a list's item or a member's name outside of brackets. Each level of a block begins to the right of the
 * one around it, so this bounds how deep blocks are.
 */
const MOST_COLUMNS = 200;
const REFUSED: Readonly<Record<string, string>> = {
  '&': 'anchors',
  '*': 'aliases',
  '!': 'tags',
  '%': 'directives',
};

const BLOCKS: ReadonlySet<string> = new Set(['-', '?', ':']);

/** The lexer's mark before the text of a scalar. */
const TEXT_FOLLOWS = '\u001f';

const invalid = (why: string): PolicyError => new PolicyError('', `is not valid YAML: ${why}`);

function checkTokens(text: string): void {
  let tokens = 0;
  let open = 0;
  let column = 0;
  let isText = false;
  for (const token of new Lexer().lex(text)) {
    if (++tokens > MOST_TOKENS) throw invalid(`it has more than ${MOST_TOKENS} tokens`);
    const follows = isText;
    isText = token === TEXT_FOLLOWS;
    if (isText) continue;
    const before = column;
    const lineBreak = token.lastIndexOf('\n');
    column = lineBreak < 0 ? column + token.length : token.length - lineBreak - 1;
    if (follows) continue;
    if (before > MOST_COLUMNS && open === 0 && BLOCKS.has(token))
      throw invalid(`it has a block that begins behind column ${MOST_COLUMNS}`);
    const refused = REFUSED[token[0] ?? ''];
    if (refused !== undefined) throw new PolicyError('', `has ${refused}, which are not accepted`);
    if (token === '[' || token === '{') open += 1;
    else if (token === ']' || token === '}') open -= 1;
    if (open < 0) throw invalid('a bracket closes that was not opened');
    if (open > MOST_BRACKETS) throw invalid(`it has more than ${MOST_BRACKETS} brackets within one another`);
  }
}

function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return `at line ${before.length}, column ${before.at(-1)!.length + 1}`;
}

/** The parser compares each member of a map with all others. */
function checkNames(text: string, document: Document): void {
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<string>();
      for (const { key } of items) {
        const [offset = 0] = (key as { range?: number[] } | null)?.range ?? [];
        // Written as text, each level of a map or list that is a name doubles what is in it: 57 bytes took 1 GB.
        if (!isScalar(key)) throw invalid(`the name of a member must be text ${placeOf(text, offset)}`);
        const name = String(key.value);
        if (seen.has(name)) throw invalid(`Map keys must be unique ${placeOf(text, offset)}`);
        seen.add(name);
      }
    },
  });
}

function yamlOf(text: string): unknown {
  checkTokens(text);
  try {
    const document = parseDocument(text, {
      schema: 'core',
      merge: false,
      uniqueKeys: false,
      logLevel: 'silent',
      // They cost more than the parsing.
      prettyErrors: false,
    });
    const [error] = document.errors;
    if (error) throw invalid(`${error.message.split('\n')[0]!.slice(0, 200)} ${placeOf(text, error.pos[0])}`);
    checkNames(text, document);
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    if (error instanceof PolicyError) throw error;
    throw new PolicyError('', 'is not valid YAML');
  }
}
