/**
 * An HTTPS origin 40 ms away. The whole request through the cluster is compared with the bare tools in parallel, in
 * turns.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { files, makeCertificate, makeMedia } from '../source/media.ts';
import type { Measurement, Row } from '../measurement.ts';
import { median, summary } from '../statistics.ts';
import { expectOk, partOf, withCluster } from './rig.ts';
import { bareTools } from './tools.ts';

const RUNS = Number(process.env['BENCH_FAR'] ?? 5);
const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'probeyard', 'bench-media');

/** The newest build with its own TLS. `latest` has none, because the source proxy handles it. */
const FFPROBE = '7.1';

interface Counters {
  sent: number;
  delivered: number;
  connections: number;
  requests: number;
}

/** The origin listens on 127.0.0.1, and pods reach it at the host's address. The bare tools take the same path. */
async function forward(host: string, to: number): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const origin = connect({ port: to, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    client.pipe(origin);
    origin.pipe(client);
    client.on('error', () => origin.destroy()).on('close', () => origin.destroy());
    origin.on('error', () => client.destroy()).on('close', () => client.destroy());
  });
  server.listen(0, host);
  await once(server, 'listening');
  return server;
}

/** The name of the file is the caller's address in both. mediainfo also prints the times of reading. */
const comparable = (text: string): string => JSON.stringify(JSON.parse(text));

export const far: Measurement = {
  name: 'far',
  title: `HTTPS origin 40 ms away, ffprobe and mediainfo both, ${RUNS} runs each`,
  measure: (report) =>
    withCluster(async (c) => {
      makeMedia(folder);
      const { cert, key } = makeCertificate(join(folder, 'tls'));
      const origin = fork(join(import.meta.dirname, '..', 'source', 'far_origin.ts'), [folder, cert, key]);
      const [{ port }] = (await once(origin, 'message')) as [{ port: number }];
      const server = await forward(c.hostIp, port);
      const address = `https://${c.hostIp}:${(server.address() as AddressInfo).port}`;
      const counters = async (): Promise<Counters> => {
        // Bytes in flight when the tools exited still count.
        await delay(300);
        origin.send('counters');
        return ((await once(origin, 'message')) as [Counters])[0];
      };
      const { tools, remove } = await bareTools(c, ['ffprobe', 'mediainfo'], { ffprobe: FFPROBE });
      const { token } = await c.newToken();
      const rows: Row[] = [];
      try {
        for (const name of files) {
          const url = `${address}/${name}`;
          const [bareMs, ms, bareBytes, bytes]: [number[], number[], number[], number[]] = [[], [], [], []];
          let equal = true;
          for (let run = -1; run < RUNS; run++) {
            await counters();
            const begun = performance.now();
            const outputs = await Promise.all(['ffprobe', 'mediainfo'].map((tool) => tools[tool]!.run(url)));
            const bare = performance.now() - begun;
            const sentBare = (await counters()).sent;
            // Persistent connections are a gain of the proxy, but must not last between requests here, so they have to
            // close first.
            await delay(RUNS > 1 ? 500 : 0);
            const answer = expectOk(
              await c.probe(
                { url, ffprobe: { version: FFPROBE }, mediainfo: { ssl_ignore_security: true } },
                { token },
              ),
            );
            const { sent } = await counters();
            if (run < 0) continue;
            bareMs.push(bare);
            ms.push(answer.ms);
            bareBytes.push(sentBare / 1e6);
            bytes.push(sent / 1e6);
            equal &&= ['ffprobe', 'mediainfo'].every(
              (tool, index) => JSON.stringify(partOf(answer, tool).response) === comparable(outputs[index] ?? ''),
            );
          }
          report(
            `${name}: ${Math.round(median(ms))} against ${Math.round(median(bareMs))} ms, ` +
              `${median(bytes).toFixed(1)} against ${median(bareBytes).toFixed(1)} MB, outputs ` +
              `${equal ? 'equal' : 'DIFFER'}`,
          );
          rows.push(
            {
              name: `far-${name}`,
              what: `${name}, both tools, whole request`,
              unit: 'ms',
              values: summary(ms),
              against: { what: 'bare tools side by side', values: summary(bareMs) },
              note: `outputs ${equal ? 'equal' : 'DIFFER'}`,
            },
            {
              name: `far-${name}-bytes`,
              what: `— ${name}, bytes that the origin sent`,
              unit: 'MB',
              values: summary(bytes),
              against: { what: 'bare tools side by side', values: summary(bareBytes) },
            },
          );
        }
      } finally {
        remove();
        server.close();
        origin.kill();
      }
      return rows;
    }),
};
