/**
 * Policies as plain YAML: no anchors, no tags, no directives, no repeated member. The tokens are checked first, because
 * the parser's own work is not bounded: 60 KB of quotes, or of members of one map, take it half a second.
 */
import { Lexer, parseDocument, visit, type Document } from 'yaml';
import { PolicyError } from './error.ts';

/** Tokens of a policy with 64 KB: the policies of the chart have one in three bytes. */
const MOST_TOKENS = 24_000;
/** Brackets within one another. */
const MOST_BRACKETS = 32;
const REFUSED: Readonly<Record<string, string>> = {
  '&': 'anchors',
  '*': 'aliases',
  '!': 'tags',
  '%': 'directives',
};

/** The lexer's mark before the text of a scalar. */
const TEXT_FOLLOWS = '\u001f';

const invalid = (why: string): PolicyError => new PolicyError('', `is not valid YAML: ${why}`);

function checkTokens(text: string): void {
  let tokens = 0;
  let open = 0;
  let isText = false;
  for (const token of new Lexer().lex(text)) {
    if (++tokens > MOST_TOKENS) throw invalid(`it has more than ${MOST_TOKENS} tokens`);
    const follows = isText;
    isText = token === TEXT_FOLLOWS;
    if (follows) continue;
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
function checkUnique(text: string, document: Document): void {
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<string>();
      for (const { key } of items) {
        const name = String(key);
        if (seen.has(name)) {
          const [offset = 0] = (key as { range?: number[] }).range ?? [];
          throw invalid(`Map keys must be unique ${placeOf(text, offset)}`);
        }
        seen.add(name);
      }
    },
  });
}

export function yamlOf(text: string): unknown {
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
    checkUnique(text, document);
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    if (error instanceof PolicyError) throw error;
    throw new PolicyError('', 'is not valid YAML');
  }
}
