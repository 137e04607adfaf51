/** Lines of a stream, each of a bounded length. */
import { StringDecoder } from 'node:string_decoder';

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
