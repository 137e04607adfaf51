/**
 * How a server's addresses are spelled for a tool, and back: it never sees where the stream lies, nor what its query
 * holds.
 */

export interface Names {
  /** Of the server, for an address that the tool uses; undefined for one that it was not given. */
  up(uri: string): string | undefined;
  /** For the tool, in a text of the server. `list`: a semicolon or a comma ends an address. */
  down(text: string, list?: boolean): string;
}

const MOST = 64;

/** `local` is the address that the tool was started with; `base()` the server's for the same. */
export function rtspNames(local: string, base: () => string): Names {
  const others: string[] = [];
  const folder = local.slice(0, local.lastIndexOf('/'));

  const down = (found: string): string => {
    const url = found.replace(/^(rtsps?:\/\/)[^/?#@]*@/i, '$1');
    const own = base();
    if (url === own || (url.startsWith(own) && /^[/?]/.test(url.slice(own.length))))
      return local + url.slice(own.length);
    let at = others.indexOf(url);
    if (at === -1 && others.length < MOST) at = others.push(url) - 1;
    return at === -1 ? `${folder}/refused` : `${folder}/u${at}`;
  };

  return {
    up(uri) {
      if (uri === '*' || uri === local) return uri === '*' ? uri : base();
      if (uri.startsWith(local) && /^[/?]/.test(uri.slice(local.length))) return base() + uri.slice(local.length);
      const match = uri.startsWith(`${folder}/u`) ? /^(\d{1,3})(.*)$/s.exec(uri.slice(folder.length + 2)) : null;
      const known = others[Number(match?.[1])];
      if (match === null || known === undefined) return undefined;
      // A slash that a tool puts between the two is there already where the address ends with one.
      return known.endsWith('/') && match[2]!.startsWith('/') ? known + match[2]!.slice(1) : known + match[2]!;
    },
    down: (text, list = false) => text.replace(list ? /rtsps?:\/\/[^\s"'<>;,]+/gi : /rtsps?:\/\/[^\s"'<>]+/gi, down),
  };
}
