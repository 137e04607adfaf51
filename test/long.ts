/**
 * Whether faults that take minutes run at full length: in `make faults` and with `FAULTS=all`, not in the tests of
 * every change.
 */
export const inFull = (): boolean => process.env['FAULTS_FILE'] !== undefined || process.env['FAULTS'] === 'all';

export function unlessLong(
  context: Mocha.Context,
  reason = 'it rolls the whole release twice, which takes minutes',
): void {
  if (inFull()) return;
  console.log(`    skipped: ${reason}; make faults runs it, or FAULTS=all`);
  context.skip();
}
