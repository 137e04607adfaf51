import { without, type Guard } from '../guard.ts';

export const webhooks: readonly Guard[] = [
  without(
    'a webhook is signed over id, time and body',
    'test/webhooks/sign.test.ts',
    () => import('../../../src/service/webhooks/send.ts'),
    'signedHeaders',
    (original) => (secret, message) => ({
      ...original(secret, message),
      'webhook-signature': original(secret, { ...message, id: '' })['webhook-signature']!,
    }),
  ),
  without(
    'a receiver that answers 410 gets nothing more',
    'test/webhooks/schedule.test.ts',
    () => import('../../../src/service/webhooks/send.ts'),
    'verdictOf',
    (original) => (result, step, now, random) =>
      original(result.status === 410 ? { ...result, status: 500 } : result, step, now, random),
  ),
  without(
    'an address of a webhook with a password is sealed',
    'test/webhooks/kept_url.test.ts',
    () => import('../../../src/service/webhooks/kept_url.ts'),
    'keptUrl',
    () => (url) => Promise.resolve(url),
  ),
];
