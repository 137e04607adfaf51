import assert from 'node:assert/strict';
import { toGive } from '../../bench/scale/lend.ts';

describe('runners between shards', () => {
  const giver = { share: 10, used: 10, waiting: 0, idle: 0 };
  const asker = { share: 10, used: 10, waiting: 0 };
  const ROWS = [
    { what: 'nobody waits: none', giver: { idle: 10 }, asker: {}, gives: 0 },
    { what: 'idle ones are lent, but for one', giver: { idle: 10 }, asker: { waiting: 20 }, gives: 9 },
    { what: 'no more than wait', giver: { idle: 10 }, asker: { waiting: 3 }, gives: 3 },
    { what: 'what the giver needs itself stays', giver: { idle: 4, waiting: 3 }, asker: { waiting: 9 }, gives: 1 },
    { what: 'both wait, both have their shares: none', giver: { waiting: 5 }, asker: { waiting: 5 }, gives: 0 },
    {
      what: 'both wait: what is above the share goes back, busy or not',
      giver: { used: 16, waiting: 5 },
      asker: { used: 4, waiting: 5 },
      gives: 5,
    },
    {
      what: 'no more goes back than the share',
      giver: { used: 13, waiting: 5 },
      asker: { used: 4, waiting: 50 },
      gives: 3,
    },
    {
      what: 'nothing goes back from a share',
      giver: { used: 8, waiting: 9 },
      asker: { used: 2, waiting: 9 },
      gives: 0,
    },
  ];
  for (const row of ROWS)
    it(row.what, () => assert.equal(toGive({ ...giver, ...row.giver }, { ...asker, ...row.asker }), row.gives));
});
