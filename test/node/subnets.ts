/** Parsing of IPv4 ranges, sufficient to choose one that is unused on the machine. */
export interface Subnet {
  first: number;
  last: number;
}

function parseSubnet(text: string): Subnet | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)(?:\/(\d+))?$/.exec(text);
  if (match === null) return undefined;
  const [a, b, c, d] = match.slice(1, 5).map(Number);
  const bits = Number(match[5] ?? 32);
  const address = a! * 2 ** 24 + b! * 2 ** 16 + c! * 2 ** 8 + d!;
  const size = 2 ** (32 - bits);
  const first = Math.floor(address / size) * size;
  return { first, last: first + size - 1 };
}

function overlap(one: Subnet, other: Subnet): boolean {
  return one.first <= other.last && other.first <= one.last;
}

/** The first candidate that overlaps no range in use. */
export function chooseSubnet(candidates: readonly string[], used: readonly string[]): string | undefined {
  const taken = used.map(parseSubnet).filter((subnet) => subnet !== undefined);
  return candidates.find((candidate) => {
    const subnet = parseSubnet(candidate);
    return subnet !== undefined && !taken.some((other) => overlap(subnet, other));
  });
}

/** The number of addresses of a range. */
export function sizeOf(subnet: string): number {
  const { first, last } = parseSubnet(subnet) ?? { first: 0, last: -1 };
  return last - first + 1;
}

/** The nth address of a range: 1 is the gateway or the first service. */
export function addressIn(subnet: string, index: number): string {
  const first = (parseSubnet(subnet)?.first ?? 0) + index;
  return [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join('.');
}
