import { readdir, readFile, readlink } from 'node:fs/promises';

export interface Listener {
  address: string;
  port: number;
  inode: string;
}

/** Parses listening sockets from /proc/net/tcp or tcp6. */
export function listeners(text: string): Listener[] {
  const found: Listener[] = [];
  for (const line of text.split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/);
    const [hexAddress, hexPort] = fields[1]?.split(':') ?? [];
    if (fields[3] !== '0A' || hexAddress === undefined || hexPort === undefined) continue;
    found.push({ address: decodeAddress(hexAddress), port: Number.parseInt(hexPort, 16), inode: fields[9] ?? '' });
  }
  return found;
}

/**
 * IPv4 in dotted form. For IPv6 only what matters here: `*` for the wildcard, an embedded IPv4 address, and `v6` for
 * any other.
 */
function decodeAddress(hex: string): string {
  if (/^0+$/.test(hex)) return '*';
  const v4 = hex.length === 32 && hex.startsWith('0000000000000000FFFF0000') ? hex.slice(24) : hex;
  if (v4.length !== 8) return 'v6';
  // Little-endian.
  return [6, 4, 2, 0].map((start) => Number.parseInt(v4.slice(start, start + 2), 16)).join('.');
}

export async function readListeners(): Promise<Listener[]> {
  const texts = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map((file) => readFile(file, 'utf8').catch(() => '')),
  );
  return texts.flatMap(listeners);
}

/** The owner as `nginx (pid 123)`, as far as it is visible. */
export async function ownerOf(inode: string): Promise<string> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
      if (target === `socket:[${inode}]`)
        return `${(await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '?')).trim()} (pid ${pid})`;
    }
  }
  return 'a process that cannot be seen from here';
}
