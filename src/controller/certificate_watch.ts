/**
 * Exports the expiry of NATS' certificate as a metric, and activates renewals. The CronJob (or cert-manager) writes a
 * new certificate into the Secret, the kubelet updates the file in the server's pod, and the server must be told to
 * reload it. Every replica requests the reload; it is idempotent.
 */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { presentedCertificate, reloadServer } from '../bus/certificate.ts';
import type { Bus } from '../bus/connect.ts';
import type { Logger } from '../log.ts';
import type { ControllerMetrics } from './metrics.ts';

/**
 * Slightly more than the remaining share of lifetime at renewal, so that the first check after a renewal requests the
 * reload.
 */
const DUE_FROM = 0.34;
const LOOK_MS = 10 * 60_000;

export interface CertificateSettings {
  url: string;
  caFile: string | undefined;
  log: Logger;
  metrics: Pick<ControllerMetrics, 'certificate'>;
  lookMs?: number;
  now?: () => number;
}

export interface Watching {
  stop(): void;
}

/** Checks every server of the url, and requests a reload of those whose certificate is due. */
export async function lookAtCertificates(
  bus: Bus,
  { url, caFile, log, metrics, now = Date.now }: CertificateSettings,
): Promise<void> {
  if (caFile) metrics.certificate('nats-ca', Date.parse(new X509Certificate(await readFile(caFile)).validTo));
  let first = Infinity;
  for (const server of url.split(',')) {
    let presented = await presentedCertificate(server, caFile);
    if (presented && presented.validTo - now() < (presented.validTo - presented.validFrom) * DUE_FROM) {
      const { serverId, fingerprint } = presented;
      try {
        await reloadServer(bus, serverId);
        presented = (await presentedCertificate(server, caFile)) ?? presented;
        if (presented.fingerprint !== fingerprint)
          log.info({ expires: new Date(presented.validTo) }, 'NATS presents a renewed certificate');
      } catch (error) {
        log.warn({ err: error }, 'cannot reload the certificate of NATS');
      }
    }
    if (presented) first = Math.min(first, presented.validTo);
  }
  if (Number.isFinite(first)) metrics.certificate('nats', first);
}

export function watchCertificate(bus: Bus, settings: CertificateSettings): Watching {
  const { log, lookMs = LOOK_MS } = settings;
  const look = (): void => {
    lookAtCertificates(bus, settings).catch((error: unknown) =>
      log.warn({ err: error }, 'cannot read the certificate of NATS'),
    );
  };
  look();
  const timer = setInterval(look, lookMs);
  return { stop: () => clearInterval(timer) };
}
