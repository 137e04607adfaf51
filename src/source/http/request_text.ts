/** A GET of HTTP/1.1, in Latin-1. Neither the path nor a header can end its line. */
export function requestText(path: string, headers: Readonly<Record<string, string>>): string {
  if (/[^\x21-\xff]/.test(path)) throw new TypeError('the path of a request has characters that are not allowed');
  let text = `GET ${path} HTTP/1.1\r\n`;
  // The last of a name replaces the others.
  const last = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), { name, value }]));
  for (const { name, value } of last.values()) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw new TypeError(`the header ${JSON.stringify(name)} of a request has characters that are not allowed`);
    text += `${name}: ${value}\r\n`;
  }
  return `${text}\r\n`;
}
