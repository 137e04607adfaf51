/**
 * The peak memory above idle of a result in an API process on each path, on which HELD_PER_BYTE and STREAMED_BYTES of
 * src/service/result/memory_budget.ts are based. Each line uses a child process with the heap of a pod of 512 MiB.
 * Callers read the head of their response and then stall, so that all responses are held at once. `npm exec -- node
 * bench/api/memory_charge.ts [path]`
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { endAll } from '../../test/at_end.ts';
import { body, good } from '../../test/result/result_samples.ts';
import { packText } from '../../test/result/text_body.ts';
import { ADMIN, aCloseInput, anOpenInput, startStore } from '../../test/store/fixture.ts';

const MB = 1024 * 1024;
/** Node's own limit in a pod of 512 MiB: 272 MB. */
const HEAP = '--max-old-space-size=256';
const SETTLE_MS = 2_000;
const DEADLINE_MS = 120_000;
/**
 * JSON of small members, as tools print it, and one long string. In V8, one of the letters takes one byte and the other
 * two. JSON has both unescaped.
 */
const LETTERS = { 'one byte': 'A', 'two bytes': '\u2026' } as const;
type Letters = keyof typeof LETTERS;
interface Path {
  path: string;
  server: 'api' | 'steps';
  tool: 'ffprobe' | 'msv';
  at(id: string): string;
}
const PATHS: readonly Path[] = [
  { path: 'read-back', server: 'api', tool: 'ffprobe', at: (id) => `/v1/probe/${id}` },
  { path: 'single tool', server: 'api', tool: 'msv', at: (id) => `/v1/probe/${id}` },
  { path: 'log detail', server: 'api', tool: 'ffprobe', at: (id) => `/frontend/api/v1/media/log/${id}` },
  { path: 'waiting caller', server: 'steps', tool: 'ffprobe', at: (id) => `/waiting/${id}` },
  { path: 'webhook', server: 'steps', tool: 'ffprobe', at: (id) => `/webhook/${id}` },
];
const SERVERS = {
  api: new URL('../../test/api/result_server.ts', import.meta.url),
  steps: new URL('memory_charge_server.ts', import.meta.url),
};

const fixture = await startStore({ retryMs: 5_000 });

async function stored(tool: Path['tool'], bytes: number, letters: Letters): Promise<string> {
  const letter = LETTERS[letters];
  const member = (index: number): string =>
    JSON.stringify({ index, name: letter.repeat(100), value: `${index * 7_919}` });
  const small: string[] = [];
  for (let size = 0; size < bytes / 2;) size += Buffer.byteLength(small[small.push(member(small.length)) - 1]!) + 16;
  const filler = JSON.stringify(letter.repeat(Math.floor((bytes * 0.4) / Buffer.byteLength(letter))));
  const output = `{"cli_output":${filler},"a":[${small.join(',\n')}]}`;
  const form = tool === 'msv' ? { single: tool, shown: [] } : { shown: [tool] };
  const response = { ...form, injectOutput: false, injectJson: false };
  const open = anOpenInput(fixture.store, {
    tokenId: fixture.admin.tokenId,
    userId: fixture.admin.userId,
    waiter: null,
    kind: tool === 'msv' ? 'msv' : 'file',
    request: { options: {}, response },
  });
  const { packed, size } = packText(body([good(tool, output)]));
  await fixture.store.openRequest(open);
  await fixture.store.closeRequest(aCloseInput(open, { body: packed, inflatedBytes: size }));
  return open.id;
}

const status = (child: ChildProcess, what: string): number =>
  Number(new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024;
const settle = (): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, SETTLE_MS);
  });

async function stall(port: number, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN.token}\r\n\r\n`);
  await once(socket, 'readable', { signal: AbortSignal.timeout(DEADLINE_MS) });
  const head = String(socket.read(12));
  if (head !== 'HTTP/1.1 200') throw new Error(`${path}: ${head}`);
  return socket;
}
async function take(port: number, path: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { Authorization: `Bearer ${ADMIN.token}` },
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  for await (const _ of response.body as AsyncIterable<Uint8Array>) if (path.startsWith('/webhook/')) break;
}

/** Peak and steady memory above idle with `count` responses held at once. */
async function measure(
  { server, at }: Path,
  id: string,
  warmUp: string,
  count: number,
): Promise<{ peak: number; held: number }> {
  const child = fork(SERVERS[server], [fixture.urls.api, String(100_000 * MB)], { execArgv: [HEAP] });
  try {
    const [{ port }] = (await once(child, 'message', { signal: AbortSignal.timeout(DEADLINE_MS) })) as [
      { port: number },
    ];
    for (let index = 0; index < 20; index++) await take(port, at(warmUp));
    await settle();
    const idle = status(child, 'VmRSS');
    // Resets VmHWM.
    writeFileSync(`/proc/${child.pid}/clear_refs`, '5');
    const sockets = await Promise.all(Array.from({ length: count }, () => stall(port, at(id))));
    await settle();
    const [peak, held] = [status(child, 'VmHWM') - idle, status(child, 'VmRSS') - idle];
    for (const socket of sockets) socket.destroy();
    return { peak, held };
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}

const mb = (bytes: number): string => `${(bytes / MB).toFixed(0)} MB`;
try {
  for (const path of PATHS.filter(({ path: name }) => process.argv[2] === undefined || name === process.argv[2])) {
    for (const letters of ['one byte', 'two bytes'] as const) {
      const warmUp = await stored(path.tool, 10_000, letters);
      const whole = await stored(path.tool, 0.85 * MB, letters);
      const inflated = (await fixture.store.readRequest(whole))!.inflatedBytes!;
      for (const count of [32]) {
        const { peak, held } = await measure(path, whole, warmUp, count);
        const perByte = (bytes: number): string => (bytes / count / inflated).toFixed(1);
        console.log(
          `${path.path}, held, ${letters}, ${count} of ${(inflated / MB).toFixed(2)} MB: peak ` +
            `${mb(peak)}, ${perByte(peak)} per inflated byte; steady ${perByte(held)}`,
        );
      }
      for (const size of [24, 50]) {
        const large = await stored(path.tool, size * 0.85 * MB, letters);
        for (const count of [8]) {
          const { peak, held } = await measure(path, large, warmUp, count);
          console.log(
            `${path.path}, streamed, ${letters}, ${count} of ${size} MB: peak ` +
              `${mb(peak)}, ${mb(peak / count)} each; steady ${mb(held / count)} each`,
          );
        }
      }
    }
  }
} finally {
  await fixture.close();
  await endAll();
}
