/** Whose data a caller sees: his own and that of all accounts under his, or everyone's. */
import { seesEveryone, type Caller } from '../../accounts/caller.ts';
import type { Deps } from '../deps.ts';

/** Null: everyone's. */
export const visibleUsers = async ({ store }: Pick<Deps, 'store'>, caller: Caller): Promise<number[] | null> =>
  seesEveryone(caller) ? null : store.usersUnder(caller.userId);
