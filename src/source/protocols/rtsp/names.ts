/**
 * Maps a server's addresses to ones for the tool, and back: the tool never sees the location of the source, or the
 * contents of its query.
 */

export interface Names {
  /** The server's address for one that the tool uses; undefined for one that it was not given. */
  up(uri: string): string | undefined;
  /** Replaces the server's addresses in a text for the tool. `list`: a semicolon or a comma ends an address. */
  down(text: string, list?: boolean): string;
}

const MOST = 64;

/** `local`: the address that the tool was started with; `base()`: the server's equivalent. */
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
      // A tool inserts a slash between the two, which is already there if the address ends with one.
      return known.endsWith('/') && match[2]!.startsWith('/') ? known + match[2]!.slice(1) : known + match[2]!;
    },
    down: (text, list = false) => text.replace(list ? /rtsps?:\/\/[^\s"'<>;,]+/gi : /rtsps?:\/\/[^\s"'<>]+/gi, down),
  };
}
