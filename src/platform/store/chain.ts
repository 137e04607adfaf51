/** The accounts above a user, root user first. Their limits and permissions bound every user below. */
import { asObject } from './columns.ts';
import { ACCOUNT_COLUMNS, type GivenToAccount } from './limits.ts';
import type { MonthlyLimits } from './records.ts';

export interface Above extends GivenToAccount {
  id: number;
  suspended: boolean;
  /** Permissions of this account, minus its restrictions. */
  permissions: string[];
  monthlyQuota: MonthlyLimits | null;
}

/**
 * A column for a query on `users u`. `parent_ids` is the chain, maintained by a trigger (0001_accounts.sql), so this is
 * one read by key per ancestor without recursion: 0.1 ms for three of them, once per token look-up (cached).
 */
const permitted = 'array(select p from unnest(a.permissions) p where p <> all(a.restrictions))';
export const ABOVE = `(
    select coalesce(jsonb_agg(
      jsonb_build_object('id', a.id, 'suspended', a.status = 'suspended', 'permissions', ${permitted})
        || ${asObject({ ...ACCOUNT_COLUMNS, monthlyQuota: 'monthly_quota' }, 'a')}
      order by cardinality(a.parent_ids)), '[]')
    from users a where a.id = any(u.parent_ids || u.root_id) and a.id <> u.id)`;
