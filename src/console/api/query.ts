/** Queries as the API reads them: `send[from]=…`, and a name once for each value of a list. */
function add(out: URLSearchParams, name: string, value: unknown): void {
  if (value === undefined || value === null || value === '') return;
  if (Array.isArray(value)) for (const one of value) add(out, name, one);
  else if (typeof value === 'object')
    for (const [key, one] of Object.entries(value)) add(out, name === '' ? key : `${name}[${key}]`, one);
  else out.append(name, String(value));
}

export function query(values: object): string {
  const out = new URLSearchParams();
  add(out, '', values);
  const text = out.toString();
  return text === '' ? '' : `?${text}`;
}
