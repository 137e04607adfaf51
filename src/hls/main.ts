/**
 * The validator as a program: prints its report as JSON and ends with 0 whatever it found; with 1, and why on stderr,
 * where the source could not be read at all. While the image is built, every main.ts is imported: only started by
 * itself does it run.
 */
if (import.meta.main) await import('./program.ts');
