/** Takes the events of a bucket that its source is sent. */
import Type from 'typebox';
import { getOrMake } from '../../../base/get_or_make.ts';
import { makeTurns, type Turns } from '../../../base/turns.ts';
import { makeSlices } from '../batch/batch_request.ts';
import type { SourceForEvents } from '../../../platform/store/sources.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { SENDER_KEY, takeEventRate } from '../http/authenticate_sender.ts';
import { endpoint } from '../http/endpoint.ts';
import type { TextBody } from '../http/read_input.ts';
import type { Context } from '../http/request_context.ts';
import { closed, orNull, whole } from '../http/request_fields.ts';
import { confirmationOf, MOST_MESSAGE_BYTES, MOST_RECORDS, objectsOf, parsedMessage, recordsIn } from './events.ts';
import { SOURCE_PARAM } from './source_endpoints.ts';

const EventsAnswer = closed({
  noted: whole('Events that named a version that was not known to be older.'),
  ignored: whole('Others.'),
});

/** Of an account. One alone would leave the row of its source free while messages are on their way. */
const AT_ONCE = 4;
const MOST_WAITING = 1_000;
/** Of those messages, which are held meanwhile. */
const MOST_HELD_BYTES = 8 * 1024 * 1024;

interface Held {
  turns: Turns;
  bytes: number;
}

/** By account. Writers of one source wait for its row, and each holds a connection of the pool meanwhile. */
const held = new Map<number, Held>();

async function inTurn<T>(account: number, bytes: number, write: () => Promise<T>): Promise<T> {
  const own = getOrMake(held, account, () => ({ turns: makeTurns(AT_ONCE), bytes: 0 }));
  if (own.turns.waiting() >= MOST_WAITING || own.bytes + bytes > MOST_HELD_BYTES)
    throw new ApiError('rate-limited', {
      retryAfterS: 1,
      text: 'too many messages of the account wait to be noted; try again later, or wait for the next listing',
    });
  own.bytes += bytes;
  try {
    return await own.turns.run(write);
  } finally {
    own.bytes -= bytes;
    if (own.bytes === 0) held.delete(account);
  }
}

/** Nothing is asked of the address: whoever has the key may have chosen it. */
async function takeConfirmation({ store, log }: Deps, of: SourceForEvents, host?: string | null): Promise<void> {
  if (host === undefined || host === of.confirmationHost) return;
  if ((await store.setConfirmation(of.id, host)) && host !== null)
    log.info({ source: of.id, host }, 'SNS waits for a confirmation of its subscription to the events of a source');
}

async function takeEvents(deps: Deps, ctx: Context) {
  const { id, url, filter, rootUserId } = ctx.state.source!;
  const { text, value } = ctx.state.checked as TextBody;
  const slices = makeSlices(deps.paceOf(rootUserId));
  const message = value ?? parsedMessage(text);
  const records = recordsIn(message);
  takeEventRate(deps, rootUserId, Math.max(0, records.length - 1));
  const objects = await objectsOf(records, { url, filter }, { now: deps.store.clock.now(), slices });
  await slices.pay();
  const seen = { source: id, objects, ignored: records.length - objects.length };
  const bytes = ctx.request.length || MOST_MESSAGE_BYTES;
  const { noted } = await inTurn(rootUserId, bytes, async () => {
    // A message that SNS sends as it was published does not say that it is of SNS.
    const host = ctx.get('x-amz-sns-rawdelivery') === 'true' ? null : confirmationOf(message);
    await takeConfirmation(deps, ctx.state.source!, host);
    return records.length === 0 ? { noted: 0 } : deps.store.noteObjects(seen);
  });
  return { noted, ignored: records.length - noted };
}

export const sendEvents = endpoint('POST /v1/source/:id/events', {
  id: 'sendEvents',
  summary: 'Tell a source of objects',
  description:
    'A message of S3 event notifications: `Records`, one record, a CloudEvent with either in `data`, or a message ' +
    'of SNS. Of `ObjectCreated` events, those of the bucket that are wanted are noted; all others are ignored. A ' +
    `message may be sent again. At most ${MOST_RECORDS} records and 256 KB.`,
  params: SOURCE_PARAM,
  query: closed({
    [SENDER_KEY]: orNull(
      Type.String({ default: null, description: '`events_key` of the source, in place of an API token.' }),
    ),
  }),
  body: Type.Object({}, { additionalProperties: true, description: 'As S3 sends it.' }),
  text: {
    'text/plain': Type.String({ description: 'The same, as SNS sends it.' }),
    'application/cloudevents+json': Type.Object({}, { additionalProperties: true }),
  },
  input: Type.Object({}, { additionalProperties: true }),
  bounds: { bytes: MOST_MESSAGE_BYTES, inflates: false },
  also: [401, 404],
  answer: { description: 'How many were noted.', schema: EventsAnswer },
  work: takeEvents,
});
