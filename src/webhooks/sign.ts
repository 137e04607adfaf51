/**
 * Signatures as Standard Webhooks 1.0 has them: HMAC-SHA256 over id, time and body, so that neither can be changed or
 * sent again later.
 */
import { createHmac } from 'node:crypto';

/** As its owner sees it. */
export const secretText = (secret: Buffer): string => `whsec_${secret.toString('base64')}`;

export function signedHeaders(
  secret: Buffer,
  { id, at, body }: { id: string; at: Date; body: Buffer },
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const mac = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${mac}` };
}
