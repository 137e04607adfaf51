/** Reads the certificate that a NATS server presents to a new connection, and makes the server reload a renewed one. */
import { readFile } from 'node:fs/promises';
import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { within } from '../../base/retry.ts';
import { connectBus } from './connect.ts';
import { asBusError, BusError } from './errors.ts';
import { INBOX, RELOAD } from './permissions.ts';

export interface Presented {
  serverId: string;
  fingerprint: string;
  validFrom: number;
  validTo: number;
}

const DIAL_MS = 5_000;
const RELOAD_MS = 5_000;

/** Undefined: the server uses no TLS. An untrusted certificate is read too, so that an expired one is reported. */
export async function presentedCertificate(url: string, caFile: string | undefined): Promise<Presented | undefined> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const ca = caFile ? await readFile(caFile) : undefined;
  const socket = connectTcp(Number(port || 4222), host);
  const { promise, resolve, reject } = Promise.withResolvers<Presented | undefined>();
  let text = '';
  const greeted = (frame: Buffer): void => {
    text += frame.toString('latin1');
    const line = text.indexOf('\r\n');
    if (line < 0) return;
    socket.off('data', greeted);
    const info = /^INFO\s+(.+)$/i.exec(text.slice(0, line))?.[1];
    const {
      server_id: serverId = '',
      tls_required: required,
      tls_available: available,
    } = JSON.parse(info ?? '{}') as { server_id?: string; tls_required?: boolean; tls_available?: boolean };
    if (!required && !available) {
      resolve(undefined);
      return;
    }
    const secured = connectTls(
      { socket, servername: isIP(host) ? '' : host, rejectUnauthorized: false, ...(ca ? { ca } : {}) },
      () => {
        const { fingerprint256, valid_from: from, valid_to: to } = secured.getPeerCertificate();
        resolve({ serverId, fingerprint: fingerprint256, validFrom: Date.parse(from), validTo: Date.parse(to) });
      },
    );
    secured.on('error', reject);
  };
  socket
    .on('data', greeted)
    .on('error', reject)
    .on('close', () => reject(new BusError('disconnected', `${host}: closed before the TLS handshake was done`)));
  const late = (): BusError => new BusError('timeout', `${host}: no TLS handshake within ${DIAL_MS} ms`);
  return within(DIAL_MS, promise, late).finally(() => socket.destroy());
}

export interface Reload {
  /** Of one server. */
  url: string;
  serverId: string;
  caFile?: string | undefined;
  credentialsFile?: string | undefined;
}

/**
 * Makes the server reload its whole configuration; connections are kept. The request has a connection of its own,
 * because a server whose certificate has expired takes no other, and would never learn of the renewed one.
 */
export async function reloadServer({ serverId, ...settings }: Reload): Promise<void> {
  const bus = await connectBus({ ...settings, name: 'reload', inboxPrefix: INBOX.controller, toRenew: true }).catch(
    (error: unknown) => {
      throw asBusError(error, 'reload of NATS');
    },
  );
  try {
    const answer = await bus.request<{ error?: { description?: string } }>(RELOAD(serverId), {}, RELOAD_MS);
    if (answer.error) throw new BusError('failed', `reload of NATS: ${answer.error.description ?? 'failed'}`);
  } finally {
    await bus.connection.close();
  }
}
