/**
 * Finds texts that cannot be stored: Postgres rejects U+0000 in text and jsonb, and an unpaired surrogate is not valid
 * UTF-8.
 */

interface Place {
  value: unknown;
  name: string;
  parent: Place | null;
}

const isPlain = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Maximum path length in an error, counted from the outermost member. */
const MOST_STEPS = 8;

function pathOf(place: Place): string[] {
  const path: string[] = [];
  for (let at = place; at.parent !== null; at = at.parent) path.push(at.name);
  return path.toReversed().slice(0, MOST_STEPS);
}

/**
 * Path of the first one, including names of members. Not recursive, because a body may be nested as deeply as it is
 * long.
 */
export function unstorableIn(input: unknown): string[] | undefined {
  const open: Place[] = [{ value: input, name: '', parent: null }];
  for (let place = open.pop(); place; place = open.pop()) {
    const { value } = place;
    if (typeof value === 'string' && !isPlain(value)) return pathOf(place);
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      const inner = { value: member, name, parent: place };
      if (!isPlain(name)) return pathOf(inner);
      open.push(inner);
    }
  }
  return undefined;
}
