/** `mcp`: lines of stdin to the bridge. */
import { StringDecoder } from 'node:string_decoder';
import type { Run } from '../command.ts';
import { accessOf } from '../cli_config.ts';
import { EXIT, Interrupted } from '../exits.ts';
import { makeBridge } from './bridge.ts';

// Lines of a stream, each of a bounded length.

/** Above the limit of a message, so that a longer one can be refused as what it is. */
const MOST_CHARACTERS = 2 * 1024 * 1024;

/** A line that is too long is cut, and so is no valid message. */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of stream) {
    const lines = decoder.write(chunk).split('\n');
    lines[0] = (rest + lines[0]!).slice(0, MOST_CHARACTERS);
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== '') yield rest;
}

const run: Run = async ({ env, signal, terminal }) => {
  const gone = new AbortController();
  const ended = AbortSignal.any([signal, gone.signal]);
  const bridge = makeBridge({
    access: await accessOf(env),
    signal: ended,
    // A client that reads no more has ended: its calls are cancelled.
    write: (line) => terminal.data(line).catch(() => gone.abort()),
    note: (line) => terminal.note(line),
  });
  ended.addEventListener('abort', () => void process.stdin.destroy());
  if (ended.aborted) throw new Interrupted();
  try {
    for await (const line of linesOf(process.stdin)) bridge.take(line);
  } catch (error) {
    if (!ended.aborted) throw error;
  }
  await bridge.idle();
  return EXIT.done;
};
export default run;
