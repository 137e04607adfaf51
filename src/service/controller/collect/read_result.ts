/**
 * Reads a result that a runner sent, and checks all that it says: runners are not trusted, and answers are later made
 * from the head alone. Long outputs are scanned in slices and never held: an output of 50 MB multiplied the collector's
 * peak memory several times.
 */
import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { Ajv } from 'ajv';
import { BusError } from '../../../platform/bus/errors.ts';
import { outputsOf, RESULT_BYTES } from '../../../platform/bus/packing.ts';
import { ResultBody } from '../../../platform/bus/result_body.ts';
import { inflateHead, inflateOutputs, inflateShort, UnreadableResult } from '../../result/inflate.ts';
import { foundIn, hasShapes, scanOutput, type FoundOutput } from '../../result/outputs.ts';
import { readerOf } from '../../result/pieces.ts';

const validHead = new Ajv({ strict: false }).compile<ResultBody>(ResultBody);
/** Of genuine heads: less than 10. */
const MOST_DEPTH = 32;

/** `size`: as its header declares it. Throws a BusError `bad-result`. */
export async function readResult(packed: Buffer, size: number): Promise<ResultBody> {
  try {
    const text = await inflateHead(packed);
    const head = checkedHead(text);
    const outputs = outputsOf(head);
    const bytes = outputs.at(-1)?.output.to ?? 0;
    if (size > RESULT_BYTES) throw new UnreadableResult(`${size} bytes are over the limit of ${RESULT_BYTES}`);
    if (text.length + bytes !== size) throw new UnreadableResult('its size is not the declared one');
    checkPositions(outputs);
    if (hasShapes(bytes)) await checkLong(packed, outputs);
    else checkShort(inflateShort(packed, bytes), outputs);
    return head;
  } catch (error) {
    if (!(error instanceof UnreadableResult)) throw error;
    throw new BusError('bad-result', `the body cannot be read: ${error.message}`, { cause: error });
  }
}

function checkedHead(text: Buffer): ResultBody {
  let head: unknown;
  try {
    head = JSON.parse(text.toString());
  } catch (error) {
    throw new UnreadableResult('its head is not valid JSON', { cause: error });
  }
  if (isDeeper(head, MOST_DEPTH)) throw new UnreadableResult(`its head is nested more than ${MOST_DEPTH} deep`);
  if (validHead(head)) return head;
  const [first] = validHead.errors ?? [];
  throw new UnreadableResult(`its head does not have the form of one: ${first?.instancePath ?? ''} ${first?.message}`);
}

const isDeeper = (value: unknown, most: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (most === 0 || Object.values(value).some((member) => isDeeper(member, most - 1)));

/** One after the other, without gaps. */
function checkPositions(outputs: readonly FoundOutput[]): void {
  let at = 0;
  for (const { output } of outputs) {
    if (output.from !== at || output.to < at) throw new UnreadableResult('its outputs do not follow one another');
    at = output.to;
  }
}

function check(told: FoundOutput, found: FoundOutput): void {
  if (told.isJson && !found.isJson) throw new UnreadableResult('an output is not the JSON that its head says');
  if (!isDeepStrictEqual(told.output, found.output)) throw new UnreadableResult('an output is not what its head says');
}

function checkShort(bytes: Buffer, outputs: readonly FoundOutput[]): void {
  for (const told of outputs) {
    const { from, to } = told.output;
    const text = bytes.subarray(from, to);
    if (!isUtf8(text)) throw new UnreadableResult(NO_UTF8);
    check(told, foundIn(text, from, told.isJson));
  }
}

const NO_UTF8 = 'an output is not UTF-8';

async function checkLong(packed: Buffer, outputs: readonly FoundOutput[]): Promise<void> {
  const bytes = outputs.at(-1)!.output.to;
  const reader = readerOf(() => inflateOutputs(packed, bytes));
  try {
    for (const told of outputs) {
      const scan = scanOutput(told.output.from, told.isJson);
      for await (const slice of reader.read(told.output)) scan.push(slice);
      check(told, scan.end());
    }
    if (await reader.more()) throw new UnreadableResult('it has more than its outputs');
  } catch (error) {
    throw error instanceof TypeError ? new UnreadableResult(NO_UTF8, { cause: error }) : error;
  } finally {
    await reader.close();
  }
}
