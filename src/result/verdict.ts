/** What is told of the policy that a request was to be judged by. No verdict is never taken for a pass. */
import type { ResultBody } from '../bus/messages.ts';
import type { PolicyResult } from '../policy/schema.ts';

/** As the request named it; both null: an inline policy. */
export interface NamedPolicy {
  name: string | null;
  revision: number | null;
}

/** The name of the one rule that a result without a verdict has. */
const POLICY = 'policy';

export const unknownVerdict = ({ name, revision }: NamedPolicy, message: string): PolicyResult => ({
  name,
  revision,
  outcome: 'unknown',
  rules: [{ name: POLICY, level: 'fail', outcome: 'unknown', message }],
});

/** Undefined: none was asked for. */
export const verdictOf = (
  { policy }: Pick<ResultBody, 'policy'>,
  asked: NamedPolicy | undefined,
): PolicyResult | undefined => asked && (policy ?? unknownVerdict(asked, 'the result was not judged'));
