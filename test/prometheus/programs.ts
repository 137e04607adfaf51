/**
 * Debian's prometheus and promtool: those of this machine, else fetched with apt and unpacked in the cache, without
 * installing anything.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fetchProgram } from '../debian_program.ts';

const PROMETHEUS = { name: 'prometheus', program: 'usr/bin/prometheus', isAlone: true };

export interface Programs {
  prometheus: string;
  promtool: string;
}

const inFolder = (folder: string): Programs | undefined => {
  const programs = { prometheus: join(folder, 'prometheus'), promtool: join(folder, 'promtool') };
  return Object.values(programs).every((file) => existsSync(file)) ? programs : undefined;
};

/** A text says why there is none. */
export async function openPrometheus(): Promise<Programs | string> {
  const onPath = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => inFolder(folder))
    .find((programs) => programs !== undefined);
  try {
    const fetched = onPath ?? inFolder(join(await fetchProgram(PROMETHEUS), 'usr/bin'));
    return fetched ?? 'the package has no promtool';
  } catch (error) {
    return `Debian's prometheus cannot be fetched: ${(error as Error).message.split('\n')[0]}`;
  }
}
