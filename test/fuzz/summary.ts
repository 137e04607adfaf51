import { join } from 'node:path';
import { writePart } from '../../docs/tables/part.ts';

const page = join(import.meta.dirname, '..', '..', 'docs', 'reports', 'fuzzing.md');

/** Where a long run leaves what it saw: its own part of docs/reports/fuzzing.md. `name` is the make target's. */
export const writeSummary = (name: string, text: string): void => writePart(page, name, text);
