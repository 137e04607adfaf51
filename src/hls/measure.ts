/** Fetches a sample of the segments and measures them. */
import type { Findings } from './findings.ts';
import type { Limits } from './limits.ts';
import type { Origin } from './origin.ts';
import type { Playlist } from './playlist.ts';
import type { Named } from './validate.ts';

export interface MeasuredPlaylist { segments: number; bytes: number; seconds: number; peak_bit_rate: number; average_bit_rate: number }
/** By the address of the playlist; '' is the source itself. */
export type Measured = Map<string, MeasuredPlaylist>;

export interface Measuring {
  main: Playlist;
  members: readonly Named[];
  origin: Origin;
  findings: Findings;
  limits: Limits;
  ffprobe: readonly string[] | undefined;
  signal: AbortSignal;
  deadline: number;
}

export async function measure(_measuring: Measuring): Promise<Measured> {
  return new Map();
}
