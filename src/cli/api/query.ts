/** A query as the API reads it: objects in brackets, lists by repetition. */
export function queryText(query: object): string {
  const pairs: [string, string][] = [];
  function add(name: string, value: unknown): void {
    if (value === undefined || value === null) return;
    if (Array.isArray(value)) for (const one of value) add(name, one);
    else if (typeof value === 'object') for (const [key, one] of Object.entries(value)) add(`${name}[${key}]`, one);
    else pairs.push([name, String(value as string | number | boolean)]);
  }
  for (const [name, value] of Object.entries(query)) add(name, value);
  return new URLSearchParams(pairs).toString();
}
