/**
 * The role `sign-in-link`, a command in a pod of the API: prints a link that signs the first administrator in, once and
 * within an hour. Whoever may run it can read the keys of that pod already. The code stands behind #, which browsers
 * send to no server; Postgres has its hash alone.
 */
import { loadConfig, postgresOf } from '../../base/config.ts';
import { byNobody } from '../../platform/store/audit.ts';
import { openStore } from '../../platform/store/store.ts';
import { randomText } from './token_text.ts';

/** 190 bits. */
const LENGTH = 32;
const VALID_MS = 3_600_000;

const USAGE =
  'usage: main.ts sign-in-link ADDRESS, where the console is reached, as http://127.0.0.1:8080; without it ' +
  'api.publicUrl of the chart (PY_PUBLIC_URL) must be set';

/** The origin of the console. What follows it is not ours to keep: the link has a path of its own. */
function originOf(address: string): string {
  if (!/^https?:\/\//.test(address) || !URL.canParse(address)) throw new Error(USAGE);
  return new URL(address).origin;
}

export async function run(): Promise<void> {
  const config = loadConfig('api');
  const origin = originOf(process.argv[3] ?? config.publicUrl);
  if (!config.console) throw new Error('the console is off (api.console): a link would lead nowhere');
  const store = await openStore({ ...postgresOf(config), poolSize: 1, name: 'probeyard-sign-in-link' });
  try {
    const code = randomText(LENGTH);
    const { id } = store.newRequest();
    await store.together('makeSignInLink', async (calls) => {
      const userId = await calls.addSignInLink(code, VALID_MS);
      if (userId === null)
        throw new Error(
          'there is no first administrator yet: has the role migrate run with the Secret probeyard-admin?',
        );
      await calls.addAuditEntry(byNobody(id, 'makeSignInLink', userId, [{ field: 'link', redacted: 'shown' }]));
    });
    process.stdout.write(`${origin}/app/sign-in-link#${code}\n`);
  } finally {
    await store.close();
  }
}
