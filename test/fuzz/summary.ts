import { join } from 'node:path';
import { writePart } from '../../docs/tables/part.ts';

const page = join(import.meta.dirname, '..', '..', 'docs', 'reports', 'fuzzing.md');

/** Writes the result of a long run into its part of docs/reports/fuzzing.md. `name` is the make target. */
export const writeSummary = (name: string, text: string): void => writePart(page, name, text);
