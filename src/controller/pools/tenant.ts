/** Who shares runner pods with whom. */
import type { ReuseScope } from '../../kube/resources.ts';

/** Tenants by the pool's reuse scope; a source with credentials gets a pod of its own. */
export function tenantOf(
  scope: ReuseScope,
  job: { id: string; token: number; account: number; credentials: boolean },
): string {
  if (job.credentials) return `x:${job.id}`;
  switch (scope) {
    case 'job':
      return `j:${job.id}`;
    case 'token':
      return `t:${job.token}`;
    case 'account':
      return `a:${job.account}`;
    case 'any':
      return 'any';
  }
}

/** The account, where the tenant names it. */
export const accountIn = (tenant: string | undefined): number | undefined => {
  const match = /^a:(\d+)$/.exec(tenant ?? '');
  return match ? Number(match[1]) : undefined;
};

/** A pod of such a tenant runs no second job. */
export const isForOneJob = (tenant: string | undefined): boolean => tenant !== undefined && /^[xj]:/.test(tenant);
