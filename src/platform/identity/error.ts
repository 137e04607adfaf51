/** Why no access was granted. Its text names neither a token nor a role. */
export class IdentityError extends Error {
  override name = 'IdentityError';
}
