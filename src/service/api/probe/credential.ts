/** The field `credential` of a probe: the name of a credential that the operator configured. */
import { CREDENTIAL_NAME, LEAVES_BUCKET, leavesBucket, SECRET_KEYS } from '../../../source/named_credential.ts';
import type { Source } from '../../../source/source.ts';
import { invalid } from '../errors.ts';
import { optionalText } from '../http/fields.ts';

const SCHEMES = Object.keys(SECRET_KEYS);

/** Whether it exists, and whether this account may use it, is the controller's to know: then the end is a 403. */
export const CREDENTIAL_FIELD = {
  credential: optionalText(
    63,
    `For ${SCHEMES.map((scheme) => `\`${scheme}://\``).join(', ')}: the name of a credential that the operator has ` +
      'configured for this account and bucket. Its secret is known to neither the caller nor the tool.',
    CREDENTIAL_NAME,
  ),
};

export function checkCredential(sources: readonly Source[]): void {
  for (const source of sources) {
    const { scheme, s3 } = source;
    if (!SCHEMES.includes(scheme))
      throw invalid('credential', `has no effect with ${scheme}:// addresses, but with ${SCHEMES.join(', ')}`);
    if (s3?.secret !== undefined) throw invalid('credential', 'and keys in the address: only one of them is accepted');
    if (leavesBucket(source)) throw invalid('credential', LEAVES_BUCKET);
  }
}
