/** What is waived of a result, each time that it is read: neither the report nor the record of it changes. */
import { createHash } from 'node:crypto';
import type { Waived } from '../../../base/schema_parts.ts';
import type { RuleWaiver } from '../../../media/policy/evaluate.ts';
import { MOST_REPORT_BYTES } from '../../../media/qc/limits.ts';
import type { QcReport } from '../../../media/qc/schema.ts';
import { type QcWaived, type QcWaiver, waivedIn } from '../../../media/qc/waived.ts';
import type { Waivable } from '../../../media/qc/words.ts';
import type { RequestRecord } from '../../../platform/store/requests.ts';
import type { LiveWaiver } from '../../../platform/store/waivers.ts';
import type { Deps } from '../deps.ts';

/** A signed address has another query each time. */
export const withoutQuery = (address: string): string => address.replace(/\?.*$/s, '');
export const sourceSha256 = (address: string): Buffer => createHash('sha256').update(withoutQuery(address)).digest();

export interface Waivers {
  rules: RuleWaiver[];
  checks: QcWaiver[];
}

const waivedBy = ({ id, reason, by, until }: LiveWaiver) => ({ waiver: id, reason, by, until: until.toISOString() });

/** Whose request it was, and its source as the log has it. */
export type Of = Pick<RequestRecord, 'userId' | 'display'>;

/** `policy`: the name of the one that judges it; null: it has none. */
export async function waiversOf(
  { store }: Pick<Deps, 'store'>,
  { userId, display }: Of,
  policy: string | null,
): Promise<Waivers> {
  const live = await store.liveWaivers(userId, { sourceSha256: sourceSha256(display), policy });
  return {
    rules: live.flatMap((one) => (one.rule === null ? [] : [{ rule: one.rule, waived: waivedBy(one) }])),
    checks: live.flatMap((one) => {
      const { check, stream, from, to } = one;
      return check === null || stream === null
        ? []
        : [{ check: check as Waivable, stream, from, to, waived: waivedBy(one) }];
    }),
  };
}

/** For readers outside of the account. */
export function withoutNames({ rules, checks }: Waivers): Waivers {
  const unnamed = <T extends { waived: Waived }>(one: T): T => ({ ...one, waived: { ...one.waived, by: null } });
  return { rules: rules.map(unnamed), checks: checks.map(unnamed) };
}

/** A runner reads hostile media: what cannot be read as a report, or is longer than one, has no findings. */
export function waivedChecks(report: string, { checks }: Waivers): QcWaived[] {
  if (report.length > MOST_REPORT_BYTES) return [];
  try {
    return waivedIn(JSON.parse(report) as QcReport, checks);
  } catch {
    return [];
  }
}
