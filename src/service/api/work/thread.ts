/** Entry point of the API's worker threads. */
import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';
import { serveThread } from '../../../base/thread.ts';
import { JOBS, type Input, type JobName } from './jobs.ts';

export interface PieceOfWork<N extends JobName = JobName> {
  name: N;
  input: Input<N>;
}

/** Behind the event loop: work of one account must not delay a request of another. Linux knows threads by id. */
const NICE = 10;
const id = Number(basename(readlinkSync('/proc/thread-self')));
// A program without privileges may not raise a priority, which this would be in a process that is behind already.
setPriority(id, Math.max(getPriority(id), NICE));

serveThread(({ name, input }: PieceOfWork) => (JOBS[name] as (given: unknown) => unknown)(input));
