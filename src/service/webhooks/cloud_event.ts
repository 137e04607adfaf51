/** A webhook as an event of CloudEvents 1.0 in structured mode: what it is without that is its `data`. */

export const WEBHOOK_FORMATS = ['plain', 'cloudevents'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

export const CLOUD_EVENT_TYPE = 'application/cloudevents+json';

/** By what ended. An event of a request has its path and id as `source` and `subject`, so these name its result. */
export const CLOUD_EVENTS = {
  request: { type: 'dev.probeyard.request.ended', path: '/v1/probe' },
  batch: { type: 'dev.probeyard.batch.ended', path: '/v1/batch' },
  progress: { type: 'dev.probeyard.batch.progress', path: '/v1/batch' },
} as const;

export interface CloudEvent {
  of: keyof typeof CLOUD_EVENTS;
  /** An id, or the caller's own name of an item. */
  subject: string;
  time: Date;
}

/** `id`: the same in each attempt. `publicUrl`: may be empty, and `source` is a path then. `body`: JSON. */
export function cloudEvent(
  { of, subject, time }: CloudEvent,
  { id, publicUrl, body }: { id: string; publicUrl: string; body: Buffer },
): Buffer {
  const { type, path } = CLOUD_EVENTS[of];
  const head = {
    specversion: '1.0',
    id,
    source: `${publicUrl.replace(/\/$/, '')}${path}`,
    type,
    subject,
    time: time.toISOString(),
    datacontenttype: 'application/json',
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head).slice(0, -1)},"data":`), body, Buffer.from('}')]);
}
