/** The items of lists side by side: by what names an item, where something does; else by their position. */
export interface Item {
  /** As it stands in the path: `[0]`, `[@type=Audio][1]`. */
  label: string;
  /** One for each list; undefined: it does not have the item. */
  values: unknown[];
}

interface Naming {
  member: string;
  /** Its value is the place that callers know: `streams[2]`. */
  isPlace: boolean;
}

/** By the name of the list. What ffprobe and mediainfo print beside these has no names. */
const NAMINGS: ReadonlyMap<string, Naming> = new Map([
  ['streams', { member: 'index', isPlace: true }],
  ['stream_groups', { member: 'index', isPlace: true }],
  ['programs', { member: 'program_id', isPlace: false }],
  ['chapters', { member: 'id', isPlace: false }],
  ['side_data_list', { member: 'side_data_type', isPlace: false }],
  ['track', { member: '@type', isPlace: false }],
]);

const LONGEST_NAME = 100;

function nameOf(item: unknown, member: string): string | undefined {
  if (typeof item !== 'object' || item === null || !Object.hasOwn(item, member)) return undefined;
  const value = (item as Record<string, unknown>)[member];
  return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, LONGEST_NAME) : undefined;
}

export function matched(list: string, lists: readonly (readonly unknown[])[]): { items: Item[]; byPosition: boolean } {
  const naming = NAMINGS.get(list);
  const named = naming && byName(naming, lists);
  if (named) return { items: named, byPosition: false };
  const longest = Math.max(...lists.map(({ length }) => length));
  const items = Array.from({ length: longest }, (_, at) => ({
    label: `[${at}]`,
    values: lists.map((values) => values[at]),
  }));
  return { items, byPosition: true };
}

/** Undefined where an item has no name. Of several with one name the first is the first, the second the second. */
function byName({ member, isPlace }: Naming, lists: readonly (readonly unknown[])[]): Item[] | undefined {
  const items = new Map<string, Item>();
  for (const [place, values] of lists.entries()) {
    const seen = new Map<string, number>();
    for (const value of values) {
      const name = nameOf(value, member);
      if (name === undefined) return undefined;
      const nth = seen.get(name) ?? 0;
      seen.set(name, nth + 1);
      const label = `${isPlace ? `[${name}]` : `[@${member.replace(/^@/, '')}=${name}]`}${nth === 0 ? '' : `[${nth}]`}`;
      let item = items.get(label);
      if (!item) items.set(label, (item = { label, values: lists.map(() => undefined) }));
      item.values[place] = value;
    }
  }
  return [...items.values()];
}
