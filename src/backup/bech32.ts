/** Bech32 (BIP 173), the spelling of age's keys. */
const CHARACTERS = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

function checksum(values: readonly number[]): number {
  let sum = 1;
  for (const value of values) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    for (const [bit, generator] of GENERATOR.entries()) if ((top >>> bit) & 1) sum ^= generator;
  }
  return sum;
}

const expanded = (prefix: string): number[] => {
  const codes = [...prefix].map((letter) => letter.charCodeAt(0));
  return [...codes.map((code) => code >> 5), 0, ...codes.map((code) => code & 31)];
};

/** Groups of `from` bits as groups of `to` bits; undefined if the bits that remain are not padding. */
function regrouped(values: Iterable<number>, from: number, to: number, pad: boolean): number[] | undefined {
  const out: number[] = [];
  let held = 0;
  let bits = 0;
  for (const value of values) {
    held = ((held << from) | value) & 0xffff;
    bits += from;
    while (bits >= to) {
      bits -= to;
      out.push((held >> bits) & ((1 << to) - 1));
    }
  }
  const rest = held & ((1 << bits) - 1);
  if (pad) return bits > 0 ? [...out, (rest << (to - bits)) & ((1 << to) - 1)] : out;
  return bits < from && rest === 0 ? out : undefined;
}

export function bech32(prefix: string, bytes: Uint8Array): string {
  const values = regrouped(bytes, 8, 5, true)!;
  const sum = checksum([...expanded(prefix), ...values, 0, 0, 0, 0, 0, 0]) ^ 1;
  const ending = Array.from({ length: 6 }, (_, index) => (sum >>> (5 * (5 - index))) & 31);
  return `${prefix}1${[...values, ...ending].map((value) => CHARACTERS[value]).join('')}`;
}

/** The bytes of a text with this prefix; undefined if it is not one. */
export function fromBech32(prefix: string, text: string): Buffer | undefined {
  const lower = text.toLowerCase();
  if (text !== lower && text !== text.toUpperCase()) return undefined;
  const split = lower.lastIndexOf('1');
  if (lower.slice(0, split) !== prefix || lower.length - split < 7) return undefined;
  const values = Array.from(lower.slice(split + 1), (letter) => CHARACTERS.indexOf(letter));
  if (values.includes(-1) || checksum([...expanded(prefix), ...values]) !== 1) return undefined;
  const bytes = regrouped(values.slice(0, -6), 5, 8, false);
  return bytes && Buffer.from(bytes);
}
