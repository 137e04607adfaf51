/** Entry point of the API's worker threads. */
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';
import { serveThread } from '../../../base/thread.ts';
import { JOBS, type Input, type JobName } from './jobs.ts';

export interface PieceOfWork<N extends JobName = JobName> {
  name: N;
  input: Input<N>;
}

/** Behind the event loop: work of one account must not delay a request of another. Linux knows threads by id. */
const NICE = 10;
setPriority(Number(basename(readlinkSync('/proc/thread-self'))), NICE);

serveThread(({ name, input }: PieceOfWork) => (JOBS[name] as (given: unknown) => unknown)(input));
