import { without, type Guard } from '../guard.ts';

const permissions = () => import('../../../src/platform/bus/permissions.ts');
const jwt = () => import('../../../src/platform/bus/nats_jwt.ts');
const CALLOUT = 'test/bus/callout.test.ts';

export const bus: readonly Guard[] = [
  without('a runner speaks as its own pod', CALLOUT, permissions, 'runnerPermissions', (original) => (uid) => ({
    ...original(uid),
    publish: ['>'],
  })),
  without(
    'a runner hears what is said to its own pod',
    CALLOUT,
    permissions,
    'runnerPermissions',
    (original) => (uid) => ({
      ...original(uid),
      subscribe: ['>'],
    }),
  ),
  without('the API says nothing but what it may', CALLOUT, permissions, 'apiPermissions', (original) => ({
    ...original,
    publish: ['>'],
  })),
  without(
    'a token of a pod belongs to a living runner of ours',
    CALLOUT,
    () => import('../../../src/platform/bus/callout.ts'),
    'serveCallout',
    (original) => (controller, settings) => original(controller, { ...settings, isOurPod: () => true }),
  ),
  without(
    'a JWT of NATS is signed by the key that it names',
    'test/bus/nats_jwt.test.ts',
    jwt,
    'verifiedClaims',
    () => (text) => JSON.parse(Buffer.from(text.split('.')[1]!, 'base64url').toString()) as never,
  ),
  without(
    'a flood of messages is refused',
    'test/bus/rates.test.ts',
    () => import('../../../src/platform/bus/rates.ts'),
    'makeRates',
    () => () => ({ take: () => 'taken', size: 0 }),
  ),
];
