/** Stored secrets, sealed and bound to their purpose. */
import { openBox, sealInBox } from '../../platform/seal/box.ts';
import { isSealError } from '../../platform/seal/seal.ts';
import type { AccountSettings } from './settings.ts';

export type Purpose =
  'token' | 'batch' | 'source' | 'webhook' | 'webhook-url' | 'signing-key' | 'mail' | 'browser' | 'sso';

export type Box = ReturnType<typeof makeBox>;

export const makeBox = ({ boxKeys }: Pick<AccountSettings, 'boxKeys'>) => ({
  seal: (text: string, what: Purpose, id: string | number) => sealInBox(text, `${what}:${id}`, boxKeys()),
  open: (sealed: Uint8Array, what: Purpose, id: string | number) => openBox(sealed, `${what}:${id}`, boxKeys()),
  /** A caller keeps it as latin1. Null: not sealed here or for this purpose, or its key is lost. */
  async openKept(kept: string | Uint8Array, what: Purpose, id: string | number): Promise<string | null> {
    try {
      return await this.open(typeof kept === 'string' ? Buffer.from(kept, 'latin1') : kept, what, id);
    } catch (error) {
      if (isSealError(error)) return null;
      throw error;
    }
  },
});
