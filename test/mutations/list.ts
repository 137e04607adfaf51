/** Every guard that a mutation takes out, by what it guards. */
import { admission } from './guards/admission.ts';
import { bus } from './guards/bus.ts';
import { callers } from './guards/callers.ts';
import { cluster } from './guards/cluster.ts';
import { ends } from './guards/ends.ts';
import { judgements } from './guards/judgements.ts';
import { lies } from './guards/lies.ts';
import { runner } from './guards/runner.ts';
import { sources } from './guards/sources.ts';
import { wall } from './guards/wall.ts';
import { webhooks } from './guards/webhooks.ts';
import type { Area } from './mutation.ts';

export const AREAS: readonly Area[] = [
  { title: 'Who runs, and how many at once', mutations: admission },
  { title: 'One end for each request', mutations: ends },
  { title: 'What holds hostile media', mutations: runner },
  { title: 'The wall around a tool', mutations: wall },
  { title: 'Where a source may lead', mutations: sources },
  { title: 'Who may speak on NATS', mutations: bus },
  { title: 'Who lies, and what is not told', mutations: lies },
  { title: 'Who may call, and what is read of it', mutations: callers },
  { title: 'Webhooks', mutations: webhooks },
  { title: 'HLS, C2PA and the report', mutations: judgements },
  { title: 'The cluster', mutations: cluster },
];
