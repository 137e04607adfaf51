/** EXT-X-DEFINE, and the expansion of variables. */
import type { Tag } from './playlist.ts';
import { quote } from './rule.ts';
import type { Note } from './rules/catalog.ts';

/** Maximum length of expansions, per text and in total: a variable defined by variables doubles with every line. */
const MOST_EXPANDED = { each: 65_536, all: 32 << 20 };

/** Values that EXT-X-DEFINE takes from outside the playlist. */
export interface Elsewhere {
  /** Variables of the multivariant playlist. */
  imports?: ReadonlyMap<string, string> | undefined;
  /** Query parameters of the playlist's own address. */
  parameter?: ((name: string) => string | undefined) | undefined;
}

export interface Variables {
  values: Map<string, string>;
  define(tag: Tag): void;
  expand(text: string, line: number): string;
}

export function openVariables(elsewhere: Elsewhere, note: Note): Variables {
  const values = new Map<string, string>();
  let expanded = 0;
  return {
    values,
    define: (tag) => define(tag, values, elsewhere, note),
    expand(text, line) {
      if (expanded > MOST_EXPANDED.all) return text;
      let added = 0;
      const result = text.replace(/\{\$([A-Za-z0-9_-]+)\}/g, (reference, name: string) => {
        const value = values.get(name);
        if (value === undefined) note('variable-undefined', line, name);
        if (value === undefined || added > MOST_EXPANDED.each) return reference;
        added += value.length;
        return value;
      });
      expanded += added;
      if (added > MOST_EXPANDED.each) note('line-too-long', line, 'after its variables were expanded');
      return added > MOST_EXPANDED.each ? text : result;
    },
  };
}

function define(tag: Tag, values: Map<string, string>, { imports, parameter }: Elsewhere, note: Note): void {
  const [name, imported, query] = ['NAME', 'IMPORT', 'QUERYPARAM'].map(
    (attribute) => tag.attributes.get(attribute)?.value,
  );
  const given = [name, imported, query].filter((value) => value !== undefined);
  const variable = given[0] ?? '';
  const value = tag.attributes.get('VALUE')?.value;
  if (given.length !== 1)
    note(
      'define-form',
      tag.line,
      given.length === 0 ? 'none of NAME, IMPORT and QUERYPARAM' : 'more than one of NAME, IMPORT and QUERYPARAM',
    );
  else if (!/^[A-Za-z0-9_-]+$/.test(variable)) note('define-name', tag.line, quote(variable));
  if (name !== undefined && value === undefined) note('define-form', tag.line, 'NAME without VALUE');
  if (name === undefined && value !== undefined) note('define-form', tag.line, 'VALUE without NAME');
  if (values.has(variable)) note('define-duplicate', tag.line, variable);
  if (name !== undefined) values.set(variable, value ?? '');
  else if (imported !== undefined) {
    const found = imports?.get(imported);
    if (found === undefined && imports !== undefined) note('define-import', tag.line, imported);
    values.set(imported, found ?? '');
  } else if (query !== undefined) {
    const found = parameter?.(query);
    if (found === undefined && parameter !== undefined) note('define-parameter', tag.line, query);
    values.set(query, found ?? '');
  }
}
