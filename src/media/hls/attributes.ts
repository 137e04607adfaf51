/** Attribute lists: parsed to their end, whatever they contain. */
import { quote } from './rule.ts';

export interface Attribute {
  /** Without its quotes, with variables expanded. */
  value: string;
  quoted: boolean;
  column: number;
}

export type Attributes = ReadonlyMap<string, Attribute>;

const NAME = /^[A-Z0-9-]+$/;

/** Further attributes are not read: no genuine playlist comes near this. */
const MOST = 1_000;

/** Parses from column `start`. `expand` expands variables. */
export function readAttributes(
  line: string,
  start: number,
  expand: (text: string) => string,
  note: (rule: 'attribute-syntax' | 'attribute-duplicate', detail: string, column: number) => void,
): Attributes {
  const found = new Map<string, Attribute>();
  let at = start;
  const end = line.length;
  let count = 0;
  while (at < end) {
    if (++count > MOST) {
      note('attribute-syntax', `more than ${MOST} attributes`, at + 1);
      break;
    }
    const space = skipSpace(line, at);
    if (space > at) note('attribute-syntax', 'white space before an attribute', at + 1);
    at = space;
    if (at >= end) break;
    const begun = at;
    const comma = line.indexOf(',', at);
    const equals = line.indexOf('=', at);
    if (equals === -1 || (comma !== -1 && comma < equals)) {
      const stop = comma === -1 ? end : comma;
      note(
        'attribute-syntax',
        stop === at ? 'an attribute is empty' : `${quote(line.slice(at, stop))} is not NAME=value`,
        at + 1,
      );
      at = stop + 1;
      continue;
    }
    const spelled = line.slice(at, equals);
    const name = spelled.trimEnd();
    if (name !== spelled) note('attribute-syntax', `white space around the = of ${quote(name)}`, at + 1);
    if (!NAME.test(name))
      note('attribute-syntax', `${quote(name)} is not an attribute name, which consists of A-Z, 0-9 and -`, at + 1);
    at = equals + 1;
    let value: string;
    let quoted = false;
    if (line.charCodeAt(at) === 34) {
      quoted = true;
      const close = line.indexOf('"', at + 1);
      if (close === -1) {
        note('attribute-syntax', `the quoted value of ${name} does not end`, at + 1);
        value = line.slice(at + 1);
        at = end;
      } else {
        value = line.slice(at + 1, close);
        at = close + 1;
        if (at < end && line.charCodeAt(at) !== 44) {
          const next = line.indexOf(',', at);
          const stop = next === -1 ? end : next;
          note('attribute-syntax', `${quote(line.slice(at, stop))} after the quoted value of ${name}`, at + 1);
          at = stop;
        }
      }
    } else {
      const next = line.indexOf(',', at);
      const stop = next === -1 ? end : next;
      value = line.slice(at, stop);
      if (value.trim() !== value) {
        note('attribute-syntax', `white space around the value of ${name}`, at + 1);
        value = value.trim();
      }
      at = stop;
    }
    if (at < end) {
      at++;
      if (at === end) note('attribute-syntax', 'nothing follows the last comma', at);
    }
    if (value.includes('{$')) value = expand(value);
    if (found.has(name)) note('attribute-duplicate', name, begun + 1);
    else found.set(name, { value, quoted, column: begun + 1 });
  }
  return found;
}

function skipSpace(line: string, from: number): number {
  let at = from;
  while (at < line.length && (line.charCodeAt(at) === 32 || line.charCodeAt(at) === 9)) at++;
  return at;
}
