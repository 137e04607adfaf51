/** A policy that a caller sends as a text; what is wrong with it is a 400 that names the place. */
import type { Deps } from '../deps.ts';
import { invalid } from '../errors.ts';
import { tokenOf, type Context } from '../http/request_context.ts';
import type { ReadPolicy } from '../work/jobs.ts';

type PolicyInText = Exclude<ReadPolicy, { refused: unknown }>;

/** `at`: before the places in an error, as `policy.`. */
export async function policyInText(
  { work }: Pick<Deps, 'work'>,
  ctx: Context,
  sent: { text: string; mediaType: string },
  at = '',
): Promise<PolicyInText> {
  const read = await work.run('readPolicy', sent, { account: tokenOf(ctx).rootUserId, what: 'policy' });
  if (!('refused' in read)) return read;
  const { path, message } = read.refused;
  throw invalid(path === '' ? 'policy' : `${at}${path}`, message);
}
