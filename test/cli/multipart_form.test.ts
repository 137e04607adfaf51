/** A form that is sent piece by piece. */
import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import type { ClientRequest } from 'node:http';
import { Readable } from 'node:stream';
import { formOf } from '../../src/cli/api/multipart_form.ts';

describe('multipart form', () => {
  it('no timer is left of the pieces that were taken', async () => {
    const open = () => Promise.resolve(Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(10))));
    const form = await formOf({}, { name: 'a.mp4', size: 1_000, canRepeat: true, open }).open();
    const sent = Object.assign(new EventEmitter(), { write: () => !setImmediate(() => sent.emit('drain')) });
    const timers = new Set<number>();
    const hook = createHook({
      init: (id, type) => type === 'Timeout' && timers.add(id),
      destroy: (id) => timers.delete(id),
    }).enable();
    await form.feed(sent as unknown as ClientRequest);
    await new Promise(setImmediate);
    hook.disable();
    assert.ok(timers.size < 10, `${timers.size} timers`);
  });
});
