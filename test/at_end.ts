/** Ends what the test files of a process share, such as an API server. */
type End = () => Promise<unknown>;

let kept: End[] | undefined;

/** Registers `end` to run after the last file. */
export function atEnd(end: End): void {
  if (kept) kept.push(end);
  else if (typeof after === 'function')
    after(function () {
      this.timeout(60_000);
      return end();
    });
}

/** For a process with one mocha per file: from now on, the ends wait for `endAll`. */
export function keepEnds(): void {
  kept = [];
}

export async function endAll(): Promise<void> {
  for (const end of (kept ?? []).toReversed()) await end();
}
