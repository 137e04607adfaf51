/** Accounts as the API uses them. */
import { randomUUID } from 'node:crypto';
import type { Logger } from '../../base/log.ts';
import { Rounds } from '../../base/rounds.ts';
import { byNobody } from '../../platform/store/audit.ts';
import type { Store } from '../../platform/store/store.ts';
import { ATTEMPT_LIMITS, makeAttempts, TooManyAttempts } from './attempts.ts';
import { makeBox } from './box.ts';
import type { Caller } from './caller.ts';
import { makeKnownBrowsers } from './known_browsers.ts';
import { makeJwts, makeSigningKeys, type Claims } from './jwt.ts';
import { startMailer } from './mailer.ts';
import type { MailText } from './mail_texts.ts';
import type { AccountSettings } from './settings.ts';
import { newWebhookSecret, webhookKey } from './token_text.ts';
import { hashPassword, verifyPassword } from '../../platform/store/password.ts';
import { makeTurns } from '../../base/turns.ts';

// Password checks at a constant cost, whether or not there is a hash to check against, and with bounded concurrency.

/** Each check takes 19 MiB and one of libuv's four threads: more at once would starve everything else. */
const AT_ONCE = 2;
const WAITING = 200;

export function makePasswords() {
  const turns = makeTurns(AT_ONCE);
  let dummy: Promise<string> | undefined;

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (turns.waiting() >= WAITING) throw new TooManyAttempts(1_000);
    return turns.run(work);
  }

  return {
    hash: (password: string): Promise<string> => inTurn(() => hashPassword(password)),
    /** Null: there is no hash; the check takes as long. */
    verify: (password: string, hash: string | null): Promise<boolean> =>
      inTurn(async () => {
        dummy ??= hashPassword('a password that nobody has');
        const matches = await verifyPassword(password, hash ?? (await dummy));
        return matches && hash !== null;
      }),
  };
}

export type Accounts = ReturnType<typeof makeAccounts>;

const HOUR_MS = 3_600_000;
/** By an issuer: after an hour it is asked again whether the person may still come. */
const LIVES_MS = { long: 14 * 24 * HOUR_MS, short: 3 * HOUR_MS, issuer: HOUR_MS };
export type SessionLife = keyof typeof LIVES_MS;

interface SessionAsked {
  userId: number;
  life: SessionLife;
  remoteIp: string;
  userAgent: string;
  /** For a JWT requested with another credential: it has no more permissions, expires no later, and ends with it. */
  within?: Pick<Caller, 'tokenId' | 'sessionId' | 'permissions' | 'expiresAt'>;
}

type SessionCalls = Pick<Store, 'openSession'>;

/** Opens a session: its entry in the user's list. Its JWT is made when that is committed, by `sessionJwt`. */
async function openSession({ clock }: Pick<Store, 'clock'>, calls: SessionCalls, asked: SessionAsked) {
  const { userId, life, within } = asked;
  const wanted = clock.now() + LIVES_MS[life];
  const expire = new Date(Math.floor(Math.min(wanted, within?.expiresAt?.getTime() ?? Infinity) / 1000) * 1000);
  const id = randomUUID();
  const opened = await calls.openSession({
    id,
    userId,
    tokenId: within?.tokenId ?? null,
    parentId: within?.sessionId ?? null,
    permissions: within?.permissions ?? null,
    remoteIp: asked.remoteIp.slice(0, 64),
    userAgent: asked.userAgent.slice(0, 512),
    expiresAt: expire,
  });
  return opened === 'opened' ? { id, userId, expire } : opened;
}

const HOUSEKEEPING_MS = 600_000;

export function makeAccounts({ store, log, settings }: { store: Store; log: Logger; settings: AccountSettings }) {
  const box = makeBox(settings);
  const keys = makeSigningKeys({ store, box, log });
  let installId: Promise<string> | undefined;
  const issuer = async (): Promise<string> => {
    installId ??= store.installId().catch((error: unknown) => {
      installId = undefined;
      throw error;
    });
    return `probeyard:${await installId}`;
  };
  const jwts = makeJwts({ keys, issuer, now: store.clock.now });
  const mailer = settings.mail === null ? null : startMailer({ store, box, settings: settings.mail, log });

  /** For a token without a secret: makes one, and returns it in its stored form. Null: the token is gone. */
  const makeWebhookSecret = async (id: number): Promise<Buffer | null> =>
    store.giveWebhookSecret(id, await box.seal(newWebhookSecret(), 'webhook', id));

  /** Adds secrets to tokens created without a key at hand, such as the first administrator's. */
  async function giveWebhookSecrets(): Promise<void> {
    for (const id of await store.tokensWithoutSecret(1000)) await makeWebhookSecret(id);
  }
  async function lapseAbsent(): Promise<void> {
    const { absenceDays } = settings;
    if (absenceDays === null) return;
    const changes = [{ field: 'status', before: 'active', after: 'suspended' }];
    await store.together('lapseAbsent', async (calls) => {
      for (const userId of await calls.lapseAbsent(absenceDays))
        await calls.addAuditEntry(byNobody(store.newRequest().id, 'lapseAbsent', userId, changes));
    });
  }
  const housekeeping = new Rounds({
    async round() {
      await Promise.all([giveWebhookSecrets(), store.forgetAccountRemains(), lapseAbsent()]);
    },
    failed: (error) => log.warn({ err: error }, 'account housekeeping failed, will retry'),
    restMs: HOUSEKEEPING_MS,
  });

  return {
    settings,
    box,
    jwts,
    knownBrowsers: makeKnownBrowsers(box, store.clock.now),
    /** Host names of this installation, in addition to the request's own Host. */
    ownHosts: settings.publicUrl === '' ? [] : [new URL(settings.publicUrl).host.toLowerCase()],
    attempts: makeAttempts(store, { ...ATTEMPT_LIMITS, ...settings.attempts }, settings.trustedHops),
    passwords: makePasswords(),
    /** Null: the JWT is invalid or expired, or its session was ended. */
    async callerOfJwt(jwt: string): Promise<Caller | null> {
      const claims = await jwts.verify('session', jwt);
      if (!claims) return null;
      const caller = await store.sessionCaller(claims.id, claims.userId);
      return caller && { ...caller, sessionId: claims.id };
    },
    /** Returns a text if a JWT requested with another JWT is refused. `calls`: those of a transaction. */
    openSession: (asked: SessionAsked, calls: SessionCalls = store) => openSession(store, calls, asked),
    sessionJwt: ({ id, userId, expire }: Claims & { expire: Date }) => jwts.sign('session', { id, userId }, expire),
    /** Seals a mail, to be stored together with the change it reports. */
    async sealMail({ subject, text }: MailText) {
      const id = randomUUID();
      return { id, subject, sealed: await box.seal(text, 'mail', id) };
    },
    mailsWait: (): void => mailer?.wake(),
    /** Decrypts the key that signs a token's webhooks, from its stored form. */
    openWebhookSecret: async (kept: Buffer, tokenId: number): Promise<Buffer> =>
      webhookKey(await box.open(kept, 'webhook', tokenId)),
    makeWebhookSecret,
    async stop(): Promise<void> {
      await Promise.allSettled([housekeeping.stop(), mailer?.stop()]);
    },
  };
}
