/** Parts of a result that no answer has: the timeline. Each is JSON of a known form. */
import { Ajv } from 'ajv';
import { type Timeline, TimelineSchema } from '../../../media/timeline/schema.ts';

const isTimeline = new Ajv({ strict: false }).compile<Timeline>(TimelineSchema);

/** Null: a runner reads hostile media, and what it stored may be anything. */
export function readTimeline(stored: string): Timeline | null {
  try {
    const value: unknown = JSON.parse(stored);
    return isTimeline(value) ? value : null;
  } catch {
    return null;
  }
}
