/** The C2PA check of a large file through the source proxy, beside the bare library on the same file on disk. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { startProxy } from '../../src/source/proxy.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { newAuthority, newSigner } from '../../test/c2pa/pki.ts';
import { C2paRig, programs, WHY_SKIPPED } from '../../test/c2pa/rig.ts';
import { sampleOf } from '../../test/c2pa/samples.ts';
import { startOrigin } from '../../test/source/origin.ts';
import type { Measurement } from '../measurement.ts';
import { summary } from '../statistics.ts';

const RUNS = 5;
const MB = 1_000_000;
/**
 * Larger files cannot be signed here. The library holds the file in memory, and the signer has the memory limit of the
 * check.
 */
const SIZES = [100] as const;

/** A WAV of noise, so that the hash covers all of it. */
async function largeWav(path: string, bytes: number): Promise<void> {
  const head = Buffer.from(sampleOf('WAV').bytes.subarray(0, 44));
  const noise = Buffer.from(Array.from({ length: MB }, (_, index) => (index * 2_654_435_761) >>> 24));
  const blocks = Math.ceil(bytes / noise.length);
  head.writeUInt32LE(36 + blocks * noise.length, 4);
  head.writeUInt32LE(blocks * noise.length, 40);
  const out = createWriteStream(path);
  out.write(head);
  for (let block = 0; block < blocks; block++) if (!out.write(noise)) await once(out, 'drain');
  out.end();
  await once(out, 'finish');
}

/** The duration in milliseconds and the peak resident memory in MB. */
async function run(place: string, config: string): Promise<{ ms: number; mb: number }> {
  const began = performance.now();
  const child = spawn(programs!.c2pa, ['--config', config, place], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { HOME: '/tmp' },
  });
  let said = '';
  let mb = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const look = setInterval(() => {
    try {
      // The kernel's own high-water mark, so that the last read before the exit is exact enough.
      mb = Math.max(
        mb,
        Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024,
      );
    } catch {
      // It has exited.
    }
  }, 5);
  await once(child, 'close');
  clearInterval(look);
  const { validation_state: state } = JSON.parse(said) as { validation_state: string };
  if (state !== 'Trusted') throw new Error(`the check says ${state}`);
  return { ms: performance.now() - began, mb };
}

export const c2paLarge: Measurement = {
  name: 'c2pa',
  title: 'the C2PA check of large files, beside the bare library on the disk',
  async measure(report) {
    if (!programs) throw new Error(WHY_SKIPPED);
    const rig = new C2paRig();
    const rows = [];
    try {
      const authority = await newAuthority('Root');
      const signer = await newSigner(authority);
      const config = rig.trusting(authority);
      for (const size of SIZES) {
        const unsigned = join(rig.folder, 'unsigned');
        await largeWav(unsigned, size * MB);
        const file = join(rig.folder, `signed-${size}`);
        rig.signFile(unsigned, file, 'audio/wav', signer);
        const { size: bytes } = statSync(file);
        const origin = await startOrigin((request, response) => {
          const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
          const last = to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1);
          response.writeHead(206, {
            'content-range': `bytes ${from}-${last}/${bytes}`,
            'content-length': last - Number(from) + 1,
            etag: '"one"',
          });
          createReadStream(file, { start: Number(from), end: last }).pipe(response);
        });
        const proxy = await startProxy();
        const [ours, bare]: { ms: number; mb: number }[][] = [[], []];
        for (let round = 0; round < RUNS; round++) {
          const job = proxy.open({
            source: parseSource(`${origin.url}/a.wav`),
            allow: [{ cidr: '127.0.0.1/32', port: origin.port }],
            limits: { maxBytes: 10e9 },
            tls: { verify: {} },
          });
          ours!.push(await run(job.address('c2pa'), config));
          job.close();
          bare!.push(await run(file, config));
          report(
            `${size} MB: ${ours!.at(-1)!.ms.toFixed(0)} ms through the ` +
              `proxy, ${bare!.at(-1)!.ms.toFixed(0)} ms on the disk`,
          );
        }
        rows.push({
          name: `c2pa-${size}mb`,
          what: `${size} MB WAV, through the source proxy`,
          unit: 'ms' as const,
          values: summary(ours!.map(({ ms }) => ms)),
          against: { what: 'the library on the disk', values: summary(bare!.map(({ ms }) => ms)) },
          note: `at most ${Math.max(...ours!.map(({ mb }) => mb)).toFixed(0)} MB resident`,
        });
        await proxy.close();
        await origin.close();
      }
      return rows;
    } finally {
      rig.close();
    }
  },
};

if (import.meta.main) console.log(await c2paLarge.measure(console.log));
