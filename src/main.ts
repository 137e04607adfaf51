import { startRole } from './base/start_role.ts';

/** One image for all roles: `main.ts <role>`. Each role has its own folder and is only loaded when needed. */
const ROLES: Record<string, () => Promise<{ run(): Promise<void> }>> = {
  api: () => import('./service/api/main.ts'),
  controller: () => import('./service/controller/main.ts'),
  agent: () => import('./service/runner/main.ts'),
  verify: () => import('./service/runner/verify.ts'),
  migrate: () => import('./platform/store/main.ts'),
  backup: () => import('./service/backup/main.ts'),
  'backup-key': () => import('./service/backup/key.ts'),
  restore: () => import('./service/backup/restore.ts'),
  renew: () => import('./service/setup/renew.ts'),
  rotate: () => import('./service/setup/rotate.ts'),
  samples: () => import('./service/samples/main.ts'),
  'secrets-init': () => import('./service/setup/init.ts'),
  'sign-in-link': () => import('./service/accounts/sign_in_link.ts'),
  setup: () => import('./service/setup/main.ts'),
  doctor: () => import('./service/doctor/main.ts'),
};

const role = process.argv[2] ?? '';
const load = ROLES[role];
if (!load) {
  console.error(`usage: main.ts <role>, one of: ${Object.keys(ROLES).join(' ')}`);
  process.exit(2);
}
await startRole(role, async () => (await load()).run());
