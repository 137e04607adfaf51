/**
 * Whether tests that take minutes run, and run at full length: with `make test LONG=1` and in `make faults`, not in the
 * tests of every change.
 */
export const inFull = (): boolean => process.env['LONG'] === '1' || process.env['FAULTS_FILE'] !== undefined;

export function unlessLong(
  context: Mocha.Context,
  reason = 'it rolls the whole release twice, which takes minutes',
): void {
  if (inFull()) return;
  console.log(`    skipped: ${reason}; make test LONG=1 runs it`);
  context.skip();
}
