/** Every guard that `make mutations` takes out. */
import { admission } from './guards/admission.ts';
import { bus } from './guards/bus.ts';
import { callers } from './guards/callers.ts';
import type { Guard } from './guard.ts';
import { runners } from './guards/runners.ts';
import { sources } from './guards/sources.ts';
import { webhooks } from './guards/webhooks.ts';

export const AREAS: Readonly<Record<string, readonly Guard[]>> = {
  'Slots, terms and attempts': admission,
  Runners: runners,
  'Sources and secrets': sources,
  NATS: bus,
  'Callers and permissions': callers,
  Webhooks: webhooks,
};

export const GUARDS: readonly Guard[] = Object.values(AREAS).flat();
