/** Signatures by Standard Webhooks 1.0: HMAC-SHA256 over id, time and body, which prevents modification and replay. */
import { createHmac } from 'node:crypto';

/** The form shown to the owner. */
export const secretText = (secret: Buffer): string => `whsec_${secret.toString('base64')}`;

export function signedHeaders(
  secret: Buffer,
  { id, at, body }: { id: string; at: Date; body: Buffer },
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const mac = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${mac}` };
}
