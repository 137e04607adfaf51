import { setTimeout as delay } from 'node:timers/promises';
import type { Probe } from '../finding.ts';
import { reaches } from '../reach.ts';
import { shownTarget, type Settings, type Target } from '../settings.ts';

interface Facts {
  /** The private and the metadata addresses, and whether the pod reached each of them. */
  closed: readonly { target: Target; open: boolean }[];
  /** What the policy lets runners reach. */
  nats: readonly { target: Target; open: boolean }[];
  required: boolean;
}

const tried = (targets: readonly Target[]) =>
  Promise.all(targets.map(async (target) => ({ target, open: await reaches(target) })));

const shown = (tries: Facts['closed']): string => tries.map(({ target }) => shownTarget(target)).join(', ');

export const networkPolicy: Probe<Facts, Settings> = {
  id: 'network-policy',
  title: 'NetworkPolicy',
  wanted: 'a runner reaches NATS, and no private or metadata address',
  why: 'Only the network holds a taken-over agent. Use one that enforces NetworkPolicy.',
  async collect({ closed, nats, settleMs, requireNetwork }) {
    await delay(settleMs);
    return { closed: await tried(closed), nats: await tried(nats), required: requireNetwork };
  },
  verdict({ closed, nats, required }) {
    const open = closed.filter((one) => one.open);
    const cut = nats.filter((one) => !one.open);
    if (cut.length > 0) return { status: 'fail', found: `a runner does not reach NATS at ${shown(cut)}` };
    if (open.length > 0)
      return { status: required ? 'fail' : 'warn', found: `not enforced: a runner reaches ${shown(open)}` };
    if (closed.length === 0) return { status: 'unknown', found: 'no address was given' };
    return {
      status: 'pass',
      found: `enforced: a runner does not reach ${shown(closed)}`,
      set: { 'runners.isolation.require': ['NetworkEnforced'] },
    };
  },
};
