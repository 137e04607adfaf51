/** An installation without named credentials. */
import type { CredentialSettings } from '../../src/service/controller/leader/resolve_job.ts';
import { keepIdentities } from '../../src/platform/identity/identities.ts';
import { postBy } from '../../src/platform/identity/post.ts';

export const noCredentials: CredentialSettings = {
  credentials: [],
  folder: '',
  identities: keepIdentities({ credentials: [], folder: '', post: postBy(undefined) }),
};
