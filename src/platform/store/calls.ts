/**
 * Each call to Postgres is a function of its subject's file, with its SQL, and takes the connection first. So it is
 * read alone, and one call uses another by its name. The compiler refuses two of the same name.
 */
export { backupState } from './backups.ts';
export * from './account_codes.ts';
export * from './api_tokens.ts';
export * from './attempts.ts';
export * from './audit.ts';
export * from './batch_items.ts';
export * from './batches.ts';
export * from './cached_results.ts';
export * from './chargeback.ts';
export * from './followed_objects.ts';
export * from './identities.ts';
export * from './log.ts';
export * from './mails.ts';
export * from './policies.ts';
export * from './report_links.ts';
export * from './requests.ts';
export * from './retention.ts';
export * from './sessions.ts';
export * from './signing_keys.ts';
export * from './sources.ts';
export * from './statistics.ts';
export * from './tokens.ts';
export * from './users.ts';
export * from './waivers.ts';
export * from './webhooks.ts';
