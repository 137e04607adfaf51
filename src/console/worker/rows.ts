/**
 * A long text as rows, without a copy of it: where each row begins, and how far it is indented. Lines are rows; JSON
 * without lines gets those that a pretty-printer would make. No row is longer than a screen can draw at once.
 */
const MOST_IN_ROW = 400;
/** How far into a text its first line feed is looked for. */
const LOOK_FOR_LINES = 10_000;
const DEEPEST = 60;

export interface Rows {
  count: number;
  at(index: number): string;
  /** The row that a character stands in. */
  holding(position: number): number;
}

const LINE_FEED = 10;
const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const OPENING = new Set([91, 123]);
const CLOSING = new Set([93, 125]);

function makeList() {
  let starts = new Uint32Array(1_024);
  let depths = new Uint8Array(1_024);
  let count = 0;
  return {
    made: () => ({ count, starts, depths }),
    add(start: number, depth: number) {
      if (count === starts.length) {
        starts = new Uint32Array(starts.buffer.transfer(8 * count));
        depths = new Uint8Array(depths.buffer.transfer(2 * count));
      }
      starts[count] = start;
      depths[count] = Math.min(depth, DEEPEST);
      count += 1;
    },
  };
}
type List = ReturnType<typeof makeList>;

const isLowHalf = (code: number): boolean => code >= 0xdc_00 && code <= 0xdf_ff;

/** From the last start to `end`, in pieces. No character of two halves is cut in two. */
function addPieces(list: List, text: string, { start, end, depth }: { start: number; end: number; depth: number }) {
  list.add(start, depth);
  let from = start + MOST_IN_ROW;
  while (from < end) {
    const at = isLowHalf(text.charCodeAt(from)) ? from + 1 : from;
    list.add(at, depth);
    from = at + MOST_IN_ROW;
  }
}

function byLines(text: string): List {
  const list = makeList();
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    addPieces(list, text, { start, end, depth: 0 });
    start = end + 1;
  }
  if (start < text.length) addPieces(list, text, { start, end: text.length, depth: 0 });
  return list;
}

/** Behind the string that begins at `from`. */
function afterString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at + 1;
  }
  return text.length;
}

function byStructure(text: string): List {
  const list = makeList();
  let start = 0;
  let depth = 0;
  const row = (end: number, deeper: number): void => {
    if (end > start) addPieces(list, text, { start, end, depth });
    start = end;
    depth = Math.max(0, depth + deeper);
  };
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = afterString(text, at);
      continue;
    }
    at += 1;
    if (code === COMMA) row(at, 0);
    else if (OPENING.has(code)) {
      // An empty list or object stays in its row.
      if (CLOSING.has(text.charCodeAt(at))) at += 1;
      else row(at, 1);
    } else if (CLOSING.has(code)) {
      row(at - 1, -1);
    }
  }
  row(text.length, 0);
  return list;
}

const isJson = (text: string): boolean => /^\s*[{[]/.test(text.slice(0, 100));

export function rowsOf(text: string): Rows {
  const lines = text.slice(0, LOOK_FOR_LINES).includes('\n') || !isJson(text);
  const { count, starts, depths } = (lines ? byLines(text) : byStructure(text)).made();
  return {
    count,
    at(index) {
      const start = starts[index]!;
      const next = index + 1 < count ? starts[index + 1]! : text.length;
      const end = next > start && text.charCodeAt(next - 1) === LINE_FEED ? next - 1 : next;
      return `${'  '.repeat(depths[index]!)}${text.slice(start, end)}`;
    },
    holding(position) {
      let [low, high] = [0, count - 1];
      while (low < high) {
        const middle = (low + high + 1) >>> 1;
        if (starts[middle]! <= position) low = middle;
        else high = middle - 1;
      }
      return low;
    },
  };
}

/** More are not walked through by anyone. */
const MOST_FOUND = 10_000;

export interface Found {
  /** Rows that hold it, each once. */
  rows: Uint32Array<ArrayBuffer>;
  /** Whether there are more. */
  cut: boolean;
}

/** `lower`: the text in lower case, where it has the same length. */
export function find({ lower, rows }: { lower: string; rows: Rows }, wanted: string): Found {
  const found: number[] = [];
  if (wanted !== '')
    for (let at = lower.indexOf(wanted); at !== -1 && found.length <= MOST_FOUND;) {
      const row = rows.holding(at);
      if (found.at(-1) !== row) found.push(row);
      at = lower.indexOf(wanted, at + wanted.length);
    }
  return { rows: Uint32Array.from(found.slice(0, MOST_FOUND)), cut: found.length > MOST_FOUND };
}
