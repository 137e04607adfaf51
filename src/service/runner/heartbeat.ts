/**
 * Reports the agent's state to the leader, every two seconds and after a change. The answers renew the lease of the
 * running job.
 */
import type { Bus } from '../../platform/bus/connect.ts';
import { type Heartbeat, HEARTBEAT_MS, type Lease, SUBJECT, TASK_LEASE_MS } from '../../platform/bus/messages.ts';

const ANSWER_MS = 1_500;

export type Heartbeats = ReturnType<typeof startHeartbeats>;

interface HeartbeatOptions {
  bus: Pick<Bus, 'request'>;
  podUid: string;
  state: () => Heartbeat;
  /** False for the answer of an older leader, which does not renew the lease. */
  onLease: (lease: Lease) => boolean;
  /** Called at each interval, with or without an answer. */
  onTick: () => void;
  everyMs?: number;
}

export function startHeartbeats({ bus, podUid, state, onLease, onTick, everyMs = HEARTBEAT_MS }: HeartbeatOptions) {
  let renewedAt = performance.now();
  let leaseMs = TASK_LEASE_MS;
  const beat = async () => {
    // Counted from the request, not the answer: the leader counts from the time at which it answered.
    const askedAt = performance.now();
    try {
      const lease = await bus.request<Lease>(SUBJECT.heartbeat(podUid), state(), ANSWER_MS);
      if (!onLease(lease)) return;
      renewedAt = Math.max(renewedAt, askedAt);
      if (lease.leaseMs > 0) leaseMs = lease.leaseMs;
    } catch {
      // No answer: the lease remains valid until it expires.
    }
  };
  const timer = setInterval(() => {
    void beat();
    onTick();
  }, everyMs);
  void beat();
  return {
    /** Sends a heartbeat now, after a change. */
    beat: () => void beat(),
    /** Renews the lease: an order of the leader counts like an answer. */
    renew: () => {
      renewedAt = performance.now();
    },
    /** Whether the lease is valid: a leader answered in time. */
    held: () => performance.now() - renewedAt < leaseMs,
    stop: () => clearInterval(timer),
  };
}
