/**
 * Tells the leader what the agent does, every two seconds and when it has news; the answers renew the lease of the
 * running job.
 */
import type { Bus } from '../bus/connect.ts';
import { type Heartbeat, HEARTBEAT_MS, type Lease, SUBJECT, TASK_LEASE_MS } from '../bus/messages.ts';

const ANSWER_MS = 1_500;

export interface Heartbeats {
  /** Now, because there is news. */
  beat(): void;
  /** A leader has just given an order: that is as good as an answer. */
  renew(): void;
  /** Whether a leader answered within the lease. */
  held(): boolean;
  stop(): void;
}

export interface HeartbeatOptions {
  bus: Pick<Bus, 'request'>;
  podUid: string;
  state: () => Heartbeat;
  /** True where the answer counts: an older leader's does not. */
  onLease: (lease: Lease) => boolean;
  /** At each turn of the clock, whether an answer came or not. */
  onTick: () => void;
  everyMs?: number;
}

export function startHeartbeats({
  bus,
  podUid,
  state,
  onLease,
  onTick,
  everyMs = HEARTBEAT_MS,
}: HeartbeatOptions): Heartbeats {
  let renewedAt = performance.now();
  let leaseMs = TASK_LEASE_MS;
  const beat = async () => {
    // From the moment it was asked, not answered: the leader counts from when it said yes.
    const askedAt = performance.now();
    try {
      const lease = await bus.request<Lease>(SUBJECT.heartbeat(podUid), state(), ANSWER_MS);
      if (!onLease(lease)) return;
      renewedAt = Math.max(renewedAt, askedAt);
      if (lease.leaseMs > 0) leaseMs = lease.leaseMs;
    } catch {
      // No leader, or none that heard it: the lease runs on.
    }
  };
  const timer = setInterval(() => {
    void beat();
    onTick();
  }, everyMs);
  void beat();
  return {
    beat: () => void beat(),
    renew: () => {
      renewedAt = performance.now();
    },
    held: () => performance.now() - renewedAt < leaseMs,
    stop: () => clearInterval(timer),
  };
}
