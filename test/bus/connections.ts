/** The live connections of a NATS server, by client name: each process must have exactly one. */

export interface LiveConnection {
  cid: number;
  name: string;
  subscriptions: string[];
}

interface Connz {
  connections: { cid: number; name?: string; subscriptions_list?: string[] }[];
  total: number;
}

/** `monitor`: the address of the server's monitor, such as `http://127.0.0.1:8222`. */
export async function liveConnections(monitor: string): Promise<LiveConnection[]> {
  const found: LiveConnection[] = [];
  for (;;) {
    const response = await fetch(`${monitor}/connz?subs=1&limit=256&offset=${found.length}`, {
      signal: AbortSignal.timeout(5_000),
    });
    if (!response.ok) throw new Error(`/connz answered ${response.status}`);
    const { connections, total } = (await response.json()) as Connz;
    found.push(
      ...connections.map(({ cid, name = '', subscriptions_list = [] }) => ({
        cid,
        name,
        subscriptions: subscriptions_list,
      })),
    );
    if (connections.length === 0 || found.length >= total) return found;
  }
}

/** The number of connections per name. */
export function countByName(connections: readonly LiveConnection[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { name } of connections) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
