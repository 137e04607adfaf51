/** The leader's orders to runners, and their answers. */
import type { Bus } from '../../../platform/bus/connect.ts';
import { BusError } from '../../../platform/bus/errors.ts';
import {
  SUBJECT,
  type Cancel,
  type Go,
  type OrderAnswer,
  type Prepare,
  type Renew,
} from '../../../platform/bus/messages.ts';

/**
 * `silent`: no answer in time. `absent`: nobody listened, so the runner did not get the order. `cut-off`: this replica
 * lost its own connection meanwhile, and the runner may have got it.
 */
export type Said = OrderAnswer | { ok: false; why: 'silent' | 'absent' | 'cut-off' };

/** An agent answers an order before it acts on it, so a later answer indicates a fault. */
const ANSWER_MS = 1_500;

async function say(bus: Bus, subject: string, order: object): Promise<Said> {
  try {
    return await bus.request<OrderAnswer>(subject, order, ANSWER_MS);
  } catch (error) {
    const code = error instanceof BusError ? error.code : undefined;
    return { ok: false, why: code === 'no-responders' ? 'absent' : code === 'disconnected' ? 'cut-off' : 'silent' };
  }
}

export const sendPrepare = (bus: Bus, uid: string, order: Prepare): Promise<Said> =>
  say(bus, SUBJECT.prepare(uid), order);
export const sendGo = (bus: Bus, uid: string, order: Go): Promise<Said> => say(bus, SUBJECT.go(uid), order);
export const sendCancel = (bus: Bus, uid: string, order: Cancel): Promise<Said> => say(bus, SUBJECT.cancel(uid), order);
export const sendRenew = (bus: Bus, uid: string, order: Renew): Promise<Said> => say(bus, SUBJECT.renew(uid), order);
