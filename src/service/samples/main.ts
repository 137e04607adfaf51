/** The role `samples`: an origin inside the cluster with generated media, for first requests, examples and tests. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { loadConfig } from '../../base/config.ts';
import { serveHealth } from '../../base/health.ts';
import { makeLog } from '../../base/log.ts';
import { signals } from '../../base/signals.ts';
import { readSamples } from './files.ts';
import { respond } from './respond.ts';

export async function run(): Promise<void> {
  const config = loadConfig('samples');
  const log = makeLog('samples', config);
  const stopping = signals();
  const files = await readSamples(config.samplesFolder);
  if (files.size === 0) throw new Error(`there are no samples in ${config.samplesFolder}`);
  const server = createServer((request, response) => {
    const { status, headers, body } = respond(
      { method: request.method, target: request.url, headers: request.headers },
      files,
    );
    response.writeHead(status, headers).end(body);
  });
  server.listen(config.listen.port, config.listen.host);
  await once(server, 'listening');
  const health = await serveHealth(config.metricsListen, {});
  log.info({ files: files.size }, 'serving samples');

  const signal = await stopping.serving();
  log.info({ signal }, 'stopping');
  for (const one of [server, health]) {
    one.close();
    one.closeAllConnections();
  }
}
