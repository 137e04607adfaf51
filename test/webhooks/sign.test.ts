import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { signedHeaders } from '../../src/service/webhooks/send.ts';
import { secretText } from './receiver.ts';

describe('signature of a webhook', () => {
  const secret = randomBytes(32);
  const body = Buffer.from('{"success":true,"name":"\u{1f3ac} é"}');
  const signed = (at = new Date()) => signedHeaders(secret, { id: '0192f0c1-0000-7000-8000-000000000001', at, body });

  it('is accepted by the reference library of Standard Webhooks', () => {
    assert.deepEqual(new Webhook(secretText(secret)).verify(body.toString(), signed()), JSON.parse(body.toString()));
  });
  it('is invalid for another body, id, time or secret', () => {
    const verifier = new Webhook(secretText(secret));
    assert.throws(() => verifier.verify(`${body} `, signed()));
    for (const change of [
      { 'webhook-id': 'other' },
      { 'webhook-timestamp': String(Math.floor(Date.now() / 1000) - 1) },
    ])
      assert.throws(() => verifier.verify(body.toString(), { ...signed(), ...change }));
    assert.throws(() => new Webhook(secretText(randomBytes(32))).verify(body.toString(), signed()));
    assert.throws(() => verifier.verify(body.toString(), signed(new Date(Date.now() - 3_600_000))), /too old/);
  });
});
