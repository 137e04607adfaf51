/** docs/job-states.md: the states of a job in the leader, made from the table that the leader follows. */
import { wrapped } from './wrapped.ts';
import {
  JOB_EVENTS,
  JOB_STATES,
  TRANSITIONS,
  type EventName,
  type JobState,
} from '../../src/service/controller/leader/job.ts';

const EVENTS = Object.keys(JOB_EVENTS) as EventName[];

const lines = (text: string): string => wrapped(text).replaceAll('\n  ', '\n');

function section(state: JobState, meaning: string): string {
  const row = TRANSITIONS[state];
  const list = (events: EventName[]): string => events.map((event) => `\`${event}\``).join(', ') || 'none';
  const moves = EVENTS.flatMap((event) => {
    const next = row[event];
    if (next === undefined || next === 'ignored') return [];
    return [`| \`${event}\` | ${next.to} | ${next.effects.join(', ')} |`];
  });
  return `## ${state}

${lines(meaning)}

| event | next state | effects |
|---|---|---|
${moves.join('\n')}

${lines(`Ignored: ${list(EVENTS.filter((event) => row[event] === 'ignored'))}.`)}

${lines(`Impossible: ${list(EVENTS.filter((event) => row[event] === undefined))}.`)}
`;
}

export function jobStatesPage(): string {
  const events = EVENTS.map((event) => `| \`${event}\` | ${JOB_EVENTS[event]} |`);
  const sections = (Object.keys(JOB_STATES) as JobState[]).map((state) => section(state, JOB_STATES[state]));
  return `# States of a job in the leader

The leader has one record for each job. It is in one state, an event moves it into the next one, and then the effects
are begun in this order. The table is \`TRANSITIONS\` in \`src/service/controller/leader/job.ts\`; the effects are
\`EFFECTS\` in \`src/service/controller/leader/leader.ts\`. An impossible event is logged as an error and ignored.

| event | meaning |
|---|---|
${events.join('\n')}

${sections.join('\n')}`;
}
