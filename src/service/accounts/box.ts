/** Stored secrets, sealed and bound to their purpose. */
import { openBox, sealInBox } from '../../platform/seal/box.ts';
import type { AccountSettings } from './settings.ts';

export type Purpose = 'token' | 'webhook' | 'webhook-url' | 'signing-key' | 'mail' | 'browser' | 'sso';

export interface Box {
  seal(text: string, what: Purpose, id: string | number): Promise<Buffer>;
  open(sealed: Uint8Array, what: Purpose, id: string | number): Promise<string>;
}

export const makeBox = ({ boxKeys }: Pick<AccountSettings, 'boxKeys'>): Box => ({
  seal: (text, what, id) => sealInBox(text, `${what}:${id}`, boxKeys()),
  open: (sealed, what, id) => openBox(sealed, `${what}:${id}`, boxKeys()),
});
