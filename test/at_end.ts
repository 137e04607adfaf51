/** Ends what the test files of a process share, such as an API server. */
type End = () => Promise<unknown>;

const ends: End[] = [];
let kept = false;

/** Registers `end` to run after the last file: before what it stands on, which was registered earlier. */
export function atEnd(end: End): void {
  ends.push(end);
  if (kept || ends.length > 1 || typeof after !== 'function') return;
  after(function () {
    this.timeout(60_000);
    return endAll();
  });
}

/** For a process with one mocha per file: from now on, the ends wait for `endAll`. */
export function keepEnds(): void {
  kept = true;
}

export async function endAll(): Promise<void> {
  for (const end of ends.toReversed()) await end();
}
