/** Attribute lists: parsed to their end, whatever they contain, and checked against the grammar. */
import { quote } from './rule.ts';
import { formError, type Form, type TagSpec } from './grammar.ts';
import type { Note } from './rules/catalog.ts';

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

/** White space, a name, and a value, which may be in quotes; what follows the quotes does not belong there. */
const ITEM = /([ \t]*)([^,=]*)(=(?:"([^"]*)("?)([^,]*)|([^,]*)))?/y;

/** Parses from column `start`. `expand` expands variables. */
function readAttributes(
  line: string,
  start: number,
  expand: (text: string) => string,
  note: (rule: 'attribute-syntax' | 'attribute-duplicate', detail: string, column: number) => void,
): Attributes {
  const found = new Map<string, Attribute>();
  const end = line.length;
  let count = 0;
  for (let at = start; at < end; at++) {
    if (++count > MOST) {
      note('attribute-syntax', `more than ${MOST} attributes`, at + 1);
      break;
    }
    ITEM.lastIndex = at;
    const [, space = '', spelled = '', assigned, inQuotes, closing, after = '', plain = ''] = ITEM.exec(line)!;
    if (space !== '') note('attribute-syntax', 'white space before an attribute', at + 1);
    const column = at + space.length + 1;
    if (column > end) break;
    // The comma behind it, or the end.
    at = ITEM.lastIndex;
    if (assigned === undefined) {
      note(
        'attribute-syntax',
        spelled === '' ? 'an attribute is empty' : `${quote(spelled)} is not NAME=value`,
        column,
      );
      continue;
    }
    const name = spelled.trimEnd();
    if (name !== spelled) note('attribute-syntax', `white space around the = of ${quote(name)}`, column);
    if (!NAME.test(name))
      note('attribute-syntax', `${quote(name)} is not an attribute name, which consists of A-Z, 0-9 and -`, column);
    const valueColumn = column + spelled.length + 1;
    if (closing === '') note('attribute-syntax', `the quoted value of ${name} does not end`, valueColumn);
    if (after !== '')
      note('attribute-syntax', `${quote(after)} after the quoted value of ${name}`, at - after.length + 1);
    if (plain.trim() !== plain) note('attribute-syntax', `white space around the value of ${name}`, valueColumn);
    if (at === end - 1) note('attribute-syntax', 'nothing follows the last comma', end);
    const given = inQuotes ?? plain.trim();
    const value = given.includes('{$') ? expand(given) : given;
    if (found.has(name)) note('attribute-duplicate', name, column);
    else found.set(name, { value, quoted: inQuotes !== undefined, column });
  }
  return found;
}

/** Unknown and missing attributes, and values of the wrong form, are noted. `start`: column of the first attribute. */
export function checkedAttributes(
  content: string,
  start: number,
  { name, line, spec }: { name: string; line: number; spec: TagSpec },
  expand: (text: string) => string,
  note: Note,
): Attributes {
  const attributes = readAttributes(content, start, expand, (rule, detail, column) =>
    note(rule, line, `${name}: ${detail}`, column),
  );
  const known = spec.attributes ?? {};
  for (const [attribute, found] of attributes) {
    const wanted = Object.hasOwn(known, attribute) ? known[attribute] : undefined;
    if (wanted === undefined) {
      if (!attribute.startsWith('X-') && !attribute.startsWith('REQ-'))
        note('attribute-unknown', line, `${name}: ${quote(attribute)}`, found.column);
      else if (
        !found.quoted &&
        formError('hex', found.value, false) !== undefined &&
        formError('signed', found.value, false) !== undefined &&
        name === 'EXT-X-DATERANGE'
      )
        note('attribute-type', line, `${name}: ${attribute} is neither in quotes nor a number`, found.column);
      continue;
    }
    const { form, values } = wanted;
    const error = formError(form, found.value, found.quoted);
    const shown = (): string => `${name}: ${attribute}=${quote(found.value)}`;
    if (error !== undefined) note('attribute-type', line, `${shown()} ${error}`, found.column);
    else if (values !== undefined && !wordsOf(form, found.value).every((word) => values.includes(word)))
      note('attribute-value', line, `${shown()} is not one of ${values.join(', ')}`, found.column);
    else if (found.quoted && found.value === '' && attribute !== 'VALUE')
      note('attribute-value', line, `${name}: ${attribute} is empty`, found.column);
  }
  for (const attribute in known)
    if (known[attribute]!.required === true && !attributes.has(attribute))
      note('attribute-missing', line, `${name} without ${attribute}`);
  return attributes;
}

const wordsOf = (form: Form, value: string): string[] =>
  form === 'enum' ? [value] : value.split(',').map((word) => word.trim());
