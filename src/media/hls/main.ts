/**
 * The validator as a program: prints its report as JSON and exits with 0 whatever it finds. If the source cannot be
 * read at all, it exits with 1 and prints the reason to stderr. The image build imports every main.ts, so it only runs
 * when started itself.
 */
if (import.meta.main) await import('./program.ts');
