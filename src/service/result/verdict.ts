/** The verdict on the policy that a request named. A missing verdict never counts as a pass. */
import type { ResultBody } from '../../platform/bus/result_body.ts';
import type { PolicyResult } from '../../media/policy/schema.ts';

/** As named by the request; both null: an inline policy. */
export interface NamedPolicy {
  name: string | null;
  revision: number | null;
}

/** The name of the single rule of a result without a verdict. */
const POLICY = 'policy';

export const unknownVerdict = ({ name, revision }: NamedPolicy, message: string): PolicyResult => ({
  name,
  revision,
  outcome: 'unknown',
  rules: [{ name: POLICY, level: 'fail', outcome: 'unknown', message }],
});

/** Undefined: the request named no policy. */
export const verdictOf = (
  { policy }: Pick<ResultBody, 'policy'>,
  asked: NamedPolicy | undefined,
): PolicyResult | undefined => asked && (policy ?? unknownVerdict(asked, 'the result was not judged'));
