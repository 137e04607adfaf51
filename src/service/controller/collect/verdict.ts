/** The policy verdict of a result, for the status, the log and a one-line text. Pure. */
import type { ResultBody } from '../../../platform/bus/result_body.ts';
import { MOST_FAILED, type PolicyRequest, type PolicyStatus } from '../../../platform/kube/probe_job.ts';
import { printable } from '../../../base/printable.ts';

/** Undefined if the result names the same policy as its job, or no policy; otherwise the error. */
export function wrongPolicy(
  asked: PolicyRequest | undefined,
  { policy: told }: Pick<ResultBody, 'policy'>,
): string | undefined {
  if (!told) return undefined;
  if (!asked) return 'evaluated with a policy that the job does not name';
  // A job created by hand resolves its revision at admission.
  const same =
    told.name === (asked.name ?? null) &&
    (asked.digest === undefined || asked.revision === undefined || told.revision === asked.revision);
  return same ? undefined : 'evaluated with another policy than the job names';
}

/** Without a verdict the outcome is unknown: the runner does not support policies. */
export function policyStatus(
  asked: PolicyRequest | undefined,
  { policy: told }: Pick<ResultBody, 'policy'>,
): PolicyStatus | undefined {
  if (!asked) return undefined;
  const { name } = asked;
  const revision = told?.revision ?? asked.revision;
  const failed = (told?.rules ?? [])
    .filter(({ outcome }) => outcome === 'fail' || outcome === 'warn' || outcome === 'unknown')
    .map((rule) => printable(rule.name, 100))
    .slice(0, MOST_FAILED);
  return {
    ...(name === undefined ? {} : { name }),
    ...(revision === undefined ? {} : { revision }),
    outcome: told?.outcome ?? 'unknown',
    ...(failed.length > 0 ? { failed } : {}),
  };
}

const MOST_NAMED = 3;

/** For `kubectl describe`: `policy shared/web-mp4 revision 3: fail (container, faststart and 2 more)`. */
export function policyLine({ name, revision, outcome, failed = [] }: PolicyStatus): string {
  const called = name === undefined ? 'inline policy' : `policy ${name}`;
  const more = failed.length > MOST_NAMED ? ` and ${failed.length - MOST_NAMED} more` : '';
  const named = failed.length > 0 ? ` (${failed.slice(0, MOST_NAMED).join(', ')}${more})` : '';
  return `${called}${revision === undefined ? '' : ` revision ${revision}`}: ${outcome}${named}`;
}
