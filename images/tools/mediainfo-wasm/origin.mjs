/** Where the bytes come from: a file, or http by ranges over one kept connection. Holds one chunk at a time. */
import { open } from 'node:fs/promises';

// An import would read every export of the module, one of which loads undici: a sixth of the CPU time of a start.
const http = process.getBuiltinModule('node:http');

const FIRST = 64 * 1024;
const MOST = 1024 * 1024;
const IDLE_MS = 60_000;

export function openOrigin(address) {
  return /^http:\/\//i.test(address) ? openHttp(address) : openFile(address.replace(/^file:\/\//i, ''));
}

/** Small steps after a jump, larger ones while it goes straight on. */
function stepper() {
  let next = 0;
  let step = FIRST;
  return (offset) => {
    step = offset === next && offset !== 0 ? Math.min(step * 2, MOST) : FIRST;
    next = offset + step;
    return step;
  };
}

async function openFile(path) {
  const file = await open(path);
  const { size } = await file.stat();
  const step = stepper();
  const buffer = Buffer.alloc(MOST);
  return {
    size,
    canSeek: () => true,
    async read(offset) {
      const { bytesRead } = await file.read({ buffer, position: offset, length: step(offset) });
      return buffer.subarray(0, bytesRead);
    },
    close: () => void file.close(),
  };
}

async function openHttp(address) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const step = stepper();
  const first = await request(address, agent, 0, step(0));
  if (first.statusCode === 416) throw new Error('the source is empty');
  if (first.statusCode !== 200 && first.statusCode !== 206) {
    first.destroy();
    throw new Error(`HTTP ${first.statusCode}`);
  }
  if (first.statusCode === 200) return sequential(first, agent);
  const size = Number(/\/(\d+)$/.exec(first.headers['content-range'] ?? '')?.[1] ?? Number.MAX_SAFE_INTEGER);
  let head = await body(first);
  return {
    size,
    canSeek: () => true,
    async read(offset) {
      if (head !== undefined && offset === 0) {
        const chunk = head;
        head = undefined;
        return chunk;
      }
      if (offset >= size) return Buffer.alloc(0);
      const response = await request(address, agent, offset, step(offset));
      if (response.statusCode === 416) return (await body(response)).subarray(0, 0);
      if (response.statusCode !== 206) throw new Error(`HTTP ${response.statusCode} in the middle of the source`);
      return body(response);
    },
    close: () => agent.destroy(),
  };
}

/** An origin that knows no ranges: forward only, what is skipped is read and dropped. */
function sequential(response, agent) {
  const size = Number(response.headers['content-length'] ?? 0);
  const chunks = response[Symbol.asyncIterator]();
  let at = 0;
  return {
    size,
    canSeek: (offset) => offset >= at,
    async read(offset) {
      for (;;) {
        const { done, value } = await chunks.next();
        if (done) return Buffer.alloc(0);
        at += value.length;
        if (at > offset) return value.subarray(Math.max(0, value.length - (at - offset)));
      }
    },
    close: () => {
      response.destroy();
      agent.destroy();
    },
  };
}

function request(address, agent, offset, length) {
  return new Promise((resolve, reject) => {
    const get = http.get(
      address,
      { agent, headers: { range: `bytes=${offset}-${offset + length - 1}`, 'accept-encoding': 'identity' } },
      resolve,
    );
    get.setTimeout(IDLE_MS, () => get.destroy(new Error('no answer')));
    get.once('error', reject);
  });
}

async function body(response) {
  const parts = [];
  for await (const part of response) parts.push(part);
  return Buffer.concat(parts);
}
