/** What the leader says to one agent. A lost or late answer is an answer too: `silent`. */
import { SUBJECT, type Cancel, type Go, type OrderAnswer, type Prepare } from '../../bus/messages.ts';
import type { Bus } from '../../bus/connect.ts';

export type Said = OrderAnswer | { ok: false; why: 'silent' };

/** An agent answers an order before it does anything: more than this is no slowness but a fault. */
const ANSWER_MS = 1_500;

async function say(bus: Bus, subject: string, order: object): Promise<Said> {
  try {
    return await bus.request<OrderAnswer>(subject, order, ANSWER_MS);
  } catch {
    return { ok: false, why: 'silent' };
  }
}

export const prepare = (bus: Bus, podUid: string, order: Prepare): Promise<Said> =>
  say(bus, SUBJECT.prepare(podUid), order);
export const go = (bus: Bus, podUid: string, order: Go): Promise<Said> => say(bus, SUBJECT.go(podUid), order);
export const cancel = (bus: Bus, podUid: string, order: Cancel): Promise<Said> =>
  say(bus, SUBJECT.cancel(podUid), order);
