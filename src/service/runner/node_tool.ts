/** Tools that are scripts: how Node fits in the memory of a tool. */

/** V8 reserves this for machine code as it starts. It counts as data, and hardly any of it is ever used. */
const CODE_BYTES = 512 * 1024 * 1024;
/** Of the tool's memory, beside which Node itself takes some 60 MB. */
const HEAP_SHARE = 0.6;
const HEAP = /^--max-old-space-size=(\d+)$/;

/** What the tool may map as data. The container's limit holds for what it uses. */
export const dataLimit = (command: readonly string[], memoryBytes: number): number =>
  memoryBytes + (command[0] === '{node}' ? CODE_BYTES : 0);

/** The command, whose heap was chosen for a tool with the default memory, in this much. */
export const withFittingHeap = (argv: readonly string[], memoryBytes: number): string[] =>
  argv.map((part) => {
    const [, asked] = HEAP.exec(part) ?? [];
    if (asked === undefined) return part;
    const most = Math.floor((memoryBytes / 1024 / 1024) * HEAP_SHARE);
    return `--max-old-space-size=${Math.min(Number(asked), most)}`;
  });
