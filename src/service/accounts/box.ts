/** Stored secrets, sealed and bound to their purpose. */
import { openBox, sealInBox } from '../../platform/seal/box.ts';
import type { AccountSettings } from './settings.ts';

export type Purpose = 'token' | 'webhook' | 'webhook-url' | 'signing-key' | 'mail' | 'browser' | 'sso';

export type Box = ReturnType<typeof makeBox>;

export const makeBox = ({ boxKeys }: Pick<AccountSettings, 'boxKeys'>) => ({
  seal: (text: string, what: Purpose, id: string | number) => sealInBox(text, `${what}:${id}`, boxKeys()),
  open: (sealed: Uint8Array, what: Purpose, id: string | number) => openBox(sealed, `${what}:${id}`, boxKeys()),
});
