/** Webhook events. A new event is one row here: types and the OpenAPI description follow. */
export const EVENTS = {
  'probe.completed': 'A probe has ended, and at least one tool succeeded.',
  'probe.failed': 'A probe has ended, and no tool succeeded.',
} as const;

export type WebhookEvent = keyof typeof EVENTS;

export const eventOf = (success: boolean): WebhookEvent => (success ? 'probe.completed' : 'probe.failed');
