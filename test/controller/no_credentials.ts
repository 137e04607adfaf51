/** An installation without named credentials. */
import type { CredentialSettings } from '../../src/controller/leader/named_credentials.ts';
import { keepIdentities } from '../../src/identity/identities.ts';
import { postBy } from '../../src/identity/post.ts';

export const noCredentials: CredentialSettings = {
  credentials: [],
  folder: '',
  identities: keepIdentities({ credentials: [], folder: '', post: postBy(undefined) }),
};
