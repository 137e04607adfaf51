/** Checks the attributes of a tag against the grammar: unknown and missing ones, and values of the wrong form. */
import { readAttributes, type Attributes } from './attributes.ts';
import { formError, type TagSpec } from './grammar.ts';
import { quote } from './rule.ts';
import type { Note } from './rules/catalog.ts';

interface TagPlace {
  name: string;
  line: number;
  spec: TagSpec;
}

/** `start`: column of the first attribute. */
export function checkedAttributes(
  content: string,
  start: number,
  { name, line, spec }: TagPlace,
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
        formError({ form: 'hex' }, found.value, false) !== undefined &&
        formError({ form: 'signed' }, found.value, false) !== undefined &&
        name === 'EXT-X-DATERANGE'
      )
        note('attribute-type', line, `${name}: ${attribute} is neither in quotes nor a number`, found.column);
      continue;
    }
    const { type } = wanted;
    const error = formError(type, found.value, found.quoted);
    if (error !== undefined)
      note('attribute-type', line, `${name}: ${attribute}=${quote(found.value)} ${error}`, found.column);
    else if ('values' in type && !wordsOf(type.form, found.value).every((word) => type.values.includes(word)))
      note(
        'attribute-value',
        line,
        `${name}: ${attribute}=${quote(found.value)} is not one of ${type.values.join(', ')}`,
        found.column,
      );
    else if (found.quoted && found.value === '' && attribute !== 'VALUE')
      note('attribute-value', line, `${name}: ${attribute} is empty`, found.column);
  }
  for (const [attribute, { required }] of Object.entries(known))
    if (required === true && !attributes.has(attribute))
      note('attribute-missing', line, `${name} without ${attribute}`);
  return attributes;
}

const wordsOf = (form: 'enum' | 'list', value: string): string[] =>
  form === 'enum' ? [value] : value.split(',').map((word) => word.trim());
