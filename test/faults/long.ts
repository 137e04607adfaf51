/** Faults that roll the whole release take minutes: `make faults` and `FAULTS=all` run them, the tests of every change do not. */
export function unlessLong(context: Mocha.Context): void {
  if (process.env['FAULTS_FILE'] || process.env['FAULTS'] === 'all') return;
  console.log('    skipped: it rolls the whole release twice, which takes minutes; make faults runs it, or FAULTS=all');
  context.skip();
}
