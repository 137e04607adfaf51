import assert from 'node:assert/strict';
import { deliveriesOf } from '../../src/platform/bus/collect.ts';

describe('bus: deliveries of a pulled message', () => {
  const cases: [string, number][] = [
    ['$JS.ACK.PY_RESULTS.collectors.3.10.5.1700000000000000000.7', 3],
    ['$JS.ACK._.ACCOUNTHASH.PY_RESULTS.collectors.4.10.5.1700000000000000000.7.token', 4],
    ['$JS.ACK.domain.ACCOUNTHASH.PY_RESULTS.collectors.5.10.5.1700000000000000000.7', 5],
    ['', 1],
  ];
  for (const [reply, expected] of cases)
    it(`${expected} in ${reply || 'nothing'}`, () => assert.equal(deliveriesOf(reply), expected));
});
