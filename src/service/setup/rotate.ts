/** The role `rotate`, a CronJob of the chart: exchanges keys and certificates in steps, without an interruption. */
import { loadConfig } from '../../base/config.ts';
import { isKubeError, type KubeClient, makeClient, SECRETS, type Secret } from '../../platform/kube/client.ts';
import { type Logger, makeLog } from '../../base/log.ts';
import { pause } from '../../base/retry.ts';
import { setPassword } from '../../platform/store/role_password.ts';
import { type Held, type Rotation, ROTATIONS, type SecretKind } from './rotations.ts';
import { dataOf } from './secrets.ts';

/** The key of a Secret that holds the stage of its rotation. Controllers make NATS reload when it changes. */
const STAGE = 'rotation';

interface Progress {
  stage: string;
  since: number;
}

export interface RotateSettings {
  names: Record<string, string>;
  natsHosts: string[];
  log: Pick<Logger, 'info' | 'warn'>;
  /** Most that a stage lasts, for an installation whose jobs are short. */
  longestMs?: number;
  /** For a caller outside the cluster, where the addresses lead nowhere. */
  setPassword?: typeof setPassword;
  now?: () => number;
  wait?: (ms: number) => Promise<void>;
}

async function write(kube: KubeClient, secret: Secret, changes: Record<string, string | null>): Promise<void> {
  const entries = Object.entries(changes).map(
    ([key, value]) => [key, value === null ? null : Buffer.from(value).toString('base64')] as const,
  );
  // Guarded by resourceVersion: halves of two rotations would not match.
  await kube.mergePatch(SECRETS, secret.metadata.name, {
    metadata: { resourceVersion: secret.metadata.resourceVersion },
    data: Object.fromEntries(entries),
  });
}

/** Takes one step, or waits until one is due. False: the rotation is complete, or cannot be done here. */
async function step(kube: KubeClient, name: string, rotation: Rotation, settings: RotateSettings): Promise<boolean> {
  const { names, log, longestMs = Infinity, now = Date.now, wait = pause } = settings;
  const kinds = [...rotation.others, rotation.primary];
  const secrets = new Map<SecretKind, Secret>();
  for (const kind of kinds) secrets.set(kind, await kube.get<Secret>(SECRETS, names[kind] ?? ''));
  const held: Held = Object.fromEntries([...secrets].map(([kind, secret]) => [kind, dataOf(secret)]));
  const reason = rotation.refusal(held);
  if (reason !== undefined) {
    log.warn({ what: name, secret: names[rotation.primary], reason }, 'cannot rotate');
    return false;
  }
  const progress = JSON.parse(held[rotation.primary]?.[STAGE] ?? 'null') as Progress | null;
  const lasts = Math.min(rotation.waits[progress?.stage ?? ''] ?? 0, longestMs);
  const left = progress ? progress.since + lasts - now() : 0;
  if (left > 0) {
    await wait(left);
    return true;
  }
  const { stage, changes, newPassword } = await rotation.next(held, progress?.stage, { natsHosts: settings.natsHosts });
  if (newPassword) await (settings.setPassword ?? setPassword)(newPassword.addresses, newPassword.password);
  const after = stage === undefined ? null : JSON.stringify({ stage, since: now() } satisfies Progress);
  for (const kind of kinds) {
    const own = { ...changes[kind], ...(kind === rotation.primary ? { [STAGE]: after } : {}) };
    if (Object.keys(own).length > 0) await write(kube, secrets.get(kind)!, own);
  }
  log.info({ what: name, secret: names[rotation.primary], stage: stage ?? 'complete' }, 'rotation: took a step');
  return stage !== undefined;
}

/** Goes on with a rotation that was begun, else begins one. Returns when it is complete. */
async function rotateOne(kube: KubeClient, name: string, rotation: Rotation, settings: RotateSettings): Promise<void> {
  for (;;) {
    try {
      if (!(await step(kube, name, rotation, settings))) return;
    } catch (error) {
      // Somebody else wrote the Secret meanwhile: its new content is looked at.
      if (!isKubeError(error, 'conflict')) throw error;
      await (settings.wait ?? pause)(1_000);
    }
  }
}

/** All at once: they do not touch one another's Secrets. */
export async function rotate(kube: KubeClient, what: readonly string[], settings: RotateSettings): Promise<void> {
  const unknown = what.find((name) => !Object.hasOwn(ROTATIONS, name));
  if (unknown !== undefined)
    throw new Error(`cannot rotate ${unknown}; available: ${Object.keys(ROTATIONS).join(', ')}`);
  const rotations = what.flatMap((name) => ROTATIONS[name]!.map((rotation) => ({ name, rotation })));
  const all = await Promise.allSettled(
    rotations.map(({ name, rotation }) => rotateOne(kube, name, rotation, settings)),
  );
  const failed = all.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
}

export async function run(): Promise<void> {
  const config = loadConfig('rotate');
  const log = makeLog('rotate', config);
  const kube = await makeClient({ namespace: config.namespace });
  try {
    await rotate(kube, config.rotate, {
      names: config.secretNames,
      natsHosts: config.natsHosts.split(',').filter(Boolean),
      log,
    });
  } finally {
    await kube.close();
  }
}
