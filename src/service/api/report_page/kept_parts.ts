/** Parts of a result that no answer has: the timeline, and pictures. Each is JSON of a known form. */
import { Ajv } from 'ajv';
import type { TSchema } from 'typebox';
import { type QcPictures, QcPicturesSchema } from '../../../media/qc/pictures_schema.ts';
import { type Timeline, TimelineSchema } from '../../../media/timeline/schema.ts';

/** Null: a runner reads hostile media, and what it stored may be anything. */
function readerOf<T>(schema: TSchema): (stored: string) => T | null {
  const hasForm = new Ajv({ strict: false }).compile<T>(schema);
  return (stored) => {
    try {
      const value: unknown = JSON.parse(stored);
      return hasForm(value) ? value : null;
    } catch {
      return null;
    }
  };
}

export const readTimeline = readerOf<Timeline>(TimelineSchema);
export const readPictures = readerOf<QcPictures>(QcPicturesSchema);

export const KEPT_PARTS = { timeline: readTimeline, pictures: readPictures };
export type KeptPart = keyof typeof KEPT_PARTS;
