/** Why a job waits, runs or has ended, in a sentence each, and what helps. By the reason in its status. */

export interface Reason {
  /** After "NAME ". */
  says: string;
  helps?: string;
}

export const WAITING: Readonly<Record<string, Reason>> = {
  Queued: { says: 'waits for its turn' },
  TokenAtLimit: {
    says: 'waits because its token already runs as many jobs as it may at once',
    helps: 'an administrator can raise "concurrency" of the token or its user',
  },
  AccountAtLimit: {
    says: 'waits because its account already runs as many jobs as it may at once',
    helps: 'an administrator can raise "account-concurrency" of the account',
  },
  AccountAtShare: {
    says: 'waits because its account already has its share of the pool, and others wait, too',
    helps: 'raise maxPods or maxPodsPerTenant of the pool',
  },
  NoRunner: {
    says: 'waits because no runner is free for it',
    helps: 'raise maxPods of the pool, or see why its pods do not start: kubectl probeyard pools',
  },
  IsolationMissing: {
    says: 'waits because no runner has the isolation that its pool requires',
    helps: 'kubectl probeyard pools shows which wall is missing',
  },
};

export const ENDED: Readonly<Record<string, Reason>> = {
  Completed: { says: 'completed' },
  ToolFailed: { says: 'ended, and no tool could make anything of the source' },
  OriginUnreachable: {
    says: 'failed because the origin could not be reached, or refused',
    helps: 'try the address from inside the cluster; credentials belong into the address or a Secret',
  },
  SourceForbidden: {
    says: 'failed because its source is in a network that may not be read',
    helps: 'sources.allow in the values of the chart lists private addresses that may be read',
  },
  SourceTooLarge: {
    says: 'failed because its source is larger than the limit',
    helps: 'an administrator can raise "file-size" of the token or its user',
  },
  ToolUnavailable: {
    says: 'failed because a tool version that it names cannot run',
    helps: 'kubectl probeyard tools lists the versions and what is wrong with them',
  },
  InvalidRequest: { says: 'failed because its spec cannot be processed' },
  TokenInactive: {
    says: 'failed because its token was revoked or has expired, or its account is suspended',
  },
  QuotaExceeded: { says: 'failed because the monthly quota is used up' },
  QueueTimeout: {
    says: 'failed because it waited longer in the queue than it may',
    helps: 'kubectl probeyard top shows what runs and waits',
  },
  QueueFull: {
    says: 'failed because the queue was full, or its account had half of the places',
    helps: 'jobs.maxQueued limits it',
  },
  RateLimited: {
    says: 'failed because too many jobs were created with kubectl in a minute',
    helps: 'jobs.byHandPerMinute limits it',
  },
  DeadlineExceeded: {
    says: 'failed because it did not end in time',
    helps: 'a longer timeoutMs helps where the origin is slow or the file needs to be read as a whole',
  },
  Cancelled: { says: 'was cancelled' },
  RunnerLost: {
    says: 'failed because its runners were lost in every attempt',
    helps: 'the Events of the runner pods say why: out of memory, eviction, a node that went away',
  },
  InternalError: { says: 'failed because of an error inside Probeyard', helps: 'the log of the controller has it' },
};
