/** Tools of batches: one creates a batch, one reads how far it is and what failed. */
import Type from 'typebox';
import { UUID } from '../../http/request_fields.ts';
import { FENCED } from '../answer_text.ts';
import { membersOf, valueOf } from './result_summary.ts';
import { tool, Url, type Tool } from './mcp_tool.ts';

/** A model writes each of them. */
const MOST_ITEMS = 1_000;
const MOST_FAILED = 20;

const Budget = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Stop after this many requests. Default: none.' }),
);

const createBatch = tool({
  name: 'create_batch',
  title: 'Probe many files',
  description:
    'Analyzes a list of sources by one template, in the background, with retries: for more than a few files. Answers ' +
    'at once with a batch_id for read_batch. All items are accepted or none. Longer lists: POST /v1/batch.',
  fields: {
    items: Type.Array(Url, { minItems: 1, maxItems: MOST_ITEMS, description: 'The sources.' }),
    name: Type.Optional(Type.String({ maxLength: 200, description: 'A name for people.' })),
    probe: Type.Object(
      {},
      {
        additionalProperties: true,
        default: {},
        description: 'What to run on each: {"policy": "shared/web-mp4", "ffprobe": {"version": "7.1"}}.',
      },
    ),
    max_requests: Budget,
  },
  readOnly: false,
  creates: true,
  openWorld: true,
  async run(calls, args) {
    const { id, items, rate } = membersOf(valueOf(await calls.ask('POST', '/v1/batch', args)));
    const what = `${String(items)} items, at most ${String(rate)} requests a minute`;
    return { lead: [`batch_id: ${String(id)}`, `The batch has begun: ${what}. Read it with read_batch.`] };
  },
});

const readBatch = tool({
  name: 'read_batch',
  title: 'Read a batch',
  description:
    'Says how far a batch is: its state, items by state, errors by code, when it will end, and the first items that ' +
    `failed. get_result reads the result of an item by its request_id. ${FENCED}`,
  fields: {
    batch_id: Type.String({ pattern: UUID, description: 'Of create_batch.' }),
    failed: Type.Integer({ minimum: 1, maximum: MOST_FAILED, default: 10, description: 'Failed items, at most.' }),
  },
  async run(calls, { batch_id: id, failed: most }) {
    const [batch, failed] = await Promise.all([
      calls.ask('GET', `/v1/batch/${id}`),
      calls.ask('GET', `/v1/batch/${id}/items?state=error&limit=${most}`),
    ]);
    const { probe: _template, id: _id, ...progress } = membersOf(valueOf(batch));
    return {
      lead: [`batch_id: ${id}`, `The state of the batch: ${String(progress['state'])}.`],
      data: { ...progress, failed_items: membersOf(valueOf(failed))['items'] },
      more: 'GET /v1/batch/{id}/results has all items.',
    };
  },
});

export const BATCH_TOOLS: readonly Tool[] = [createBatch, readBatch];
