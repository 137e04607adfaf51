/**
 * Reports the state of the agent to the leader, every two seconds and after a change; the answers renew the lease of
 * the running job.
 */
import type { Bus } from '../bus/connect.ts';
import { type Heartbeat, HEARTBEAT_MS, type Lease, SUBJECT, TASK_LEASE_MS } from '../bus/messages.ts';

const ANSWER_MS = 1_500;

export interface Heartbeats {
  /** Sends one now, after a change. */
  beat(): void;
  /** An order of the leader renews the lease, as an answer does. */
  renew(): void;
  /** Whether the lease holds: a leader answered in time. */
  held(): boolean;
  stop(): void;
}

export interface HeartbeatOptions {
  bus: Pick<Bus, 'request'>;
  podUid: string;
  state: () => Heartbeat;
  /** False for the answer of an older leader, which does not count. */
  onLease: (lease: Lease) => boolean;
  /** At each interval, with or without an answer. */
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
    // From the time of the request, not of the answer: the leader counts from when it answered.
    const askedAt = performance.now();
    try {
      const lease = await bus.request<Lease>(SUBJECT.heartbeat(podUid), state(), ANSWER_MS);
      if (!onLease(lease)) return;
      renewedAt = Math.max(renewedAt, askedAt);
      if (lease.leaseMs > 0) leaseMs = lease.leaseMs;
    } catch {
      // Not answered: the lease goes on until it expires.
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
