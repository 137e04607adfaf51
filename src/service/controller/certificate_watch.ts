/**
 * Exports the expiry of NATS' certificate as a metric, and activates renewals and rotations. The CronJob (or
 * cert-manager) writes a new certificate into the Secret, the kubelet updates the file in the server's pod, and the
 * server must be told to reload it. Every replica requests the reload; it is idempotent.
 */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { presentedCertificate, reloadServer, type Presented } from '../../platform/bus/certificate.ts';
import { every } from '../../base/retry.ts';
import type { Logger } from '../../base/log.ts';
import type { ControllerMetrics } from './metrics.ts';

/**
 * Slightly more than the remaining share of lifetime at renewal, so that the first check after a renewal requests the
 * reload.
 */
const DUE_FROM = 0.34;
const LOOK_MS = 60_000;
/** The kubelet may write a changed Secret into the server's pod later than into ours. */
const SETTLES_MS = 4 * 60_000;

export interface CertificateSettings {
  url: string;
  caFile: string | undefined;
  /** With the right to make a server reload. */
  credentialsFile: string | undefined;
  log: Logger;
  metrics: Pick<ControllerMetrics, 'certificate'>;
  /** Stages of rotations: the server's configuration changes with them. A file that is missing has no stage. */
  stageFiles?: readonly string[];
  now?: () => number;
}

/** Whether one of the files changed within the last minutes. What they hold at first is no change. */
export function changes(files: readonly string[], now: () => number = Date.now): () => Promise<boolean> {
  const seen = new Map<string, { text: string; at: number }>();
  return async () => {
    for (const file of files) {
      const text = await readFile(file, 'utf8').catch(() => '');
      const before = seen.get(file);
      if (before?.text !== text) seen.set(file, { text, at: before ? now() : -Infinity });
    }
    return [...seen.values()].some(({ at }) => now() - at < SETTLES_MS);
  };
}

/** The certificate of a server, after a reload if it was due or a rotation has taken a step. */
async function renewedOrPresented(
  server: string,
  { caFile, credentialsFile, log, now = Date.now }: CertificateSettings,
  rotating: boolean,
): Promise<Presented | undefined> {
  const presented = await presentedCertificate(server, caFile);
  if (!presented) return undefined;
  const due = presented.validTo - now() < (presented.validTo - presented.validFrom) * DUE_FROM;
  if (!due && !rotating) return presented;
  const { serverId, fingerprint } = presented;
  try {
    await reloadServer({ url: server, serverId, caFile, credentialsFile });
    const after = (await presentedCertificate(server, caFile)) ?? presented;
    if (after.fingerprint !== fingerprint)
      log.info({ expires: new Date(after.validTo) }, 'NATS presents a renewed certificate');
    return after;
  } catch (error) {
    log.warn({ err: error }, 'cannot reload the certificate of NATS');
    return presented;
  }
}

/**
 * Checks every server of the url, and requests a reload of those whose certificate is due, or of all of them where a
 * rotation has taken a step.
 */
export async function lookAtCertificates(settings: CertificateSettings, rotating = false): Promise<void> {
  const { url, caFile, log, metrics } = settings;
  if (caFile) metrics.certificate('nats-ca', Date.parse(new X509Certificate(await readFile(caFile)).validTo));
  let first = Infinity;
  for (const server of url.split(',')) {
    // One server of several may be away; the others are looked at all the same.
    const presented = await renewedOrPresented(server, settings, rotating).catch((error: unknown) => {
      log.warn({ err: error }, 'cannot read the certificate of a NATS server');
      return undefined;
    });
    if (presented) first = Math.min(first, presented.validTo);
  }
  if (Number.isFinite(first)) metrics.certificate('nats', first);
}

/** Needs no connection of the product: a controller that starts cannot have one while the certificate has expired. */
export function watchCertificate(settings: CertificateSettings): { stop(): void } {
  const { log, stageFiles = [], now } = settings;
  const changed = changes(stageFiles, now);
  const look = async (): Promise<void> => lookAtCertificates(settings, await changed());
  const failed = (error: unknown) => log.warn({ err: error }, 'cannot read the certificate of NATS');
  return every(LOOK_MS, look, failed, { atOnce: true });
}
