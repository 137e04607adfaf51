/** A server of playlists, which answers each path with a list of texts, one after the other. */
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { Example } from './examples/index.ts';
import { openOrigin } from '../../src/media/hls/origin.ts';
import { makeReport } from '../../src/media/hls/report.ts';
import { HlsReportSchema, type HlsReport } from '../../src/media/hls/schema.ts';
import { validate, type Options } from '../../src/media/hls/validate.ts';
import { vod } from './examples/playlists.ts';
import { conformsTo } from '../conforms.ts';

const assertForm = conformsTo(HlsReportSchema);

export interface Answer {
  body: string | Buffer;
  type?: string;
  status?: number;
}

export class Host {
  url = '';
  readonly #server: Server;
  readonly #files = new Map<string, Answer[]>();
  #sets = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      const path = decodeURIComponent((request.url ?? '/').split('?')[0] ?? '/');
      const list = this.#files.get(path);
      // Paths that an example does not mention exist and are valid.
      const found =
        list === undefined
          ? path.endsWith('/404')
            ? undefined
            : {
                body: /iframes/.test(path)
                  ? vod('#EXT-X-I-FRAMES-ONLY', '#EXTINF:6,', '#EXT-X-BYTERANGE:1000@0', 'a.ts')
                  : vod(),
              }
          : list.length > 1
            ? list.shift()
            : list[0];
      if (found === undefined) response.writeHead(404, { 'content-type': 'text/html' }).end('<html>not here</html>');
      else
        response
          .writeHead(found.status ?? 200, { 'content-type': found.type ?? 'application/vnd.apple.mpegurl' })
          .end(found.body);
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
    return this;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  put(path: string, ...answers: Answer[]): string {
    this.#files.set(path, answers);
    return `${this.url}${path}`;
  }

  /** The address of the first playlist. */
  example(example: Example): string {
    const folder = `/${++this.#sets}`;
    for (const [name, texts] of Object.entries(example))
      this.put(`${folder}/${name.split('?')[0]}`, ...[texts].flat().map((body) => ({ body })));
    return `${this.url}${folder}/${Object.keys(example)[0]}`;
  }

  async report(address: string, options: Partial<Options> = {}): Promise<HlsReport> {
    const made = makeReport(
      await validate({ origin: openOrigin(address), timeMs: 20_000, wait: () => Promise.resolve(), ...options }),
    );
    assertForm(JSON.parse(JSON.stringify(made)));
    return made;
  }
}
