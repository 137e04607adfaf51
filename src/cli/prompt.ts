/** Asks on the terminal without showing what is typed; reads stdin to its end where there is no terminal. */
import { EXIT, Failure, Interrupted, usage } from './failure.ts';

const MOST_BYTES = 64 * 1024;
const [ENTER, ENTER_OF_TERMINALS, END, INTERRUPT, ERASE, BACKSPACE] = ['\n', '\r', '\u0004', '\u0003', '\u007f', '\b'];

export async function readSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY) return readAll();
  stderr.write(`${question}: `);
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  let text = '';
  try {
    for await (const chunk of stdin as AsyncIterable<string>)
      for (const key of chunk) {
        if (key === ENTER || key === ENTER_OF_TERMINALS || key === END) return text;
        if (key === INTERRUPT) throw new Interrupted();
        text = key === ERASE || key === BACKSPACE ? text.slice(0, -1) : text + key;
        if (text.length > MOST_BYTES) throw usage('the input is too long');
      }
    return text;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}

async function readAll(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw usage('stdin: is too long for a token');
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString().trim();
  if (text === '') throw new Failure('stdin: no token', EXIT.usage);
  return text;
}
