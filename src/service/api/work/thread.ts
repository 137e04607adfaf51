/** Entry point of the API's worker threads. */
import { serveThread } from '../../../base/thread.ts';
import { JOBS, type Input, type JobName } from './jobs.ts';

export interface PieceOfWork<N extends JobName = JobName> {
  name: N;
  input: Input<N>;
}

serveThread(({ name, input }: PieceOfWork) => (JOBS[name] as (given: unknown) => unknown)(input));
