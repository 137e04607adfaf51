/** Runs in a pod in place of the agent. Serves one file to the other container until told to stop. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const content = readFileSync(process.argv[2] ?? '');

const server = createServer((request, response) => {
  if (request.url === '/done') {
    response.end();
    server.close();
    return;
  }
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const first = Number(range?.[1] ?? 0);
  const last = range?.[2] ? Math.min(Number(range[2]), content.length - 1) : content.length - 1;
  const headers = {
    'content-type': 'video/mp4',
    'accept-ranges': 'bytes',
    'content-length': Math.max(0, last - first + 1),
  };
  if (range && first > last)
    response.writeHead(416, { 'content-range': `bytes */${content.length}`, 'content-length': 0 }).end();
  else
    response
      .writeHead(
        range ? 206 : 200,
        range ? { ...headers, 'content-range': `bytes ${first}-${last}/${content.length}` } : headers,
      )
      .end(request.method === 'HEAD' ? undefined : content.subarray(first, last + 1));
});
server.listen(8000, '127.0.0.1');
