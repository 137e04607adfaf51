import assert from 'node:assert/strict';
import { INLINE_ENVELOPE_BYTES } from '../../src/platform/bus/messages.ts';
import { endedNotice } from '../../src/service/result/ended_notice.ts';

const end = { id: 'a', status: 200, reason: 'Completed', error: null, queueTimeMs: 3, hasBody: true } as const;

describe('endedNotice', () => {
  it('omits what the record does not have', () => {
    assert.deepEqual(endedNotice(end), { id: 'a', status: 200, reason: 'Completed', queueTimeMs: 3, hasBody: true });
    assert.deepEqual(endedNotice({ ...end, inflatedBytes: null }), endedNotice(end));
    assert.deepEqual(endedNotice({ ...end, error: 'late', inflatedBytes: 0 }), {
      ...endedNotice(end),
      error: 'late',
      inflatedBytes: 0,
    });
  });

  it('has a body up to the inline limit, and no larger one', () => {
    const largest = Buffer.alloc(INLINE_ENVELOPE_BYTES);
    assert.equal(endedNotice(end, largest).body, largest.toString('base64'));
    assert.deepEqual(endedNotice(end, Buffer.alloc(INLINE_ENVELOPE_BYTES + 1)), endedNotice(end));
  });
});
