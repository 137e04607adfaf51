import type { Run } from '../command.ts';
import { accessOf } from '../config.ts';
import { EXIT, Interrupted } from '../failure.ts';
import { makeBridge } from '../mcp/bridge.ts';
import { linesOf } from '../mcp/lines.ts';

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
