import { startRole } from './start_role.ts';

/** One image for all roles: `main.ts <role>`. Each role has its own folder and is only loaded when needed. */
const ROLES: Record<string, () => Promise<{ run(): Promise<void> }>> = {
  api: () => import('./api/main.ts'),
  controller: () => import('./controller/main.ts'),
  agent: () => import('./runner/main.ts'),
  verify: () => import('./runner/verify.ts'),
  migrate: () => import('./store/main.ts'),
  backup: () => import('./backup/main.ts'),
  'backup-key': () => import('./backup/key.ts'),
  restore: () => import('./backup/restore_main.ts'),
  renew: () => import('./setup/renew.ts'),
  rotate: () => import('./setup/rotate.ts'),
  samples: () => import('./samples/main.ts'),
  'secrets-init': () => import('./setup/init.ts'),
  setup: () => import('./setup/main.ts'),
  doctor: () => import('./doctor/main.ts'),
};

const role = process.argv[2] ?? '';
const load = ROLES[role];
if (!load) {
  console.error(`usage: main.ts <role>, one of: ${Object.keys(ROLES).join(' ')}`);
  process.exit(2);
}
await startRole(role, async () => (await load()).run());
