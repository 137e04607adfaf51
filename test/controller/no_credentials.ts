/** An installation without named credentials. */
import type { CredentialSettings } from '../../src/service/controller/leader/resolve_job.ts';
import { keepIdentities, postBy } from '../../src/platform/identity/identities.ts';

export const noCredentials: CredentialSettings = {
  credentials: [],
  folder: '',
  identities: keepIdentities({ credentials: [], folder: '', post: postBy(undefined) }),
};
