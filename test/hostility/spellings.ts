/** One IPv4 address in every spelling that some program accepts. */

const hex = (byte: number): string => byte.toString(16).padStart(2, '0');

export function spellingsOf(address: string): [name: string, host: string][] {
  const [a, b, c, d] = address.split('.').map(Number) as [number, number, number, number];
  const whole = ((a * 256 + b) * 256 + c) * 256 + d;
  const [high, low] = [`${hex(a)}${hex(b)}`, `${hex(c)}${hex(d)}`];
  return [
    ['as it is', address],
    ['one number', String(whole)],
    ['one number, hexadecimal', `0x${whole.toString(16)}`],
    ['one number, hexadecimal, upper case', `0X${whole.toString(16).toUpperCase()}`],
    ['one number, octal', `0${whole.toString(8)}`],
    ['octal', [a, b, c, d].map((byte) => `0${byte.toString(8)}`).join('.')],
    ['octal with many zeros', [a, b, c, d].map((byte) => `0000${byte.toString(8)}`).join('.')],
    ['hexadecimal', [a, b, c, d].map((byte) => `0x${hex(byte)}`).join('.')],
    ['mixed', `${a}.0x${hex(b)}.0${c.toString(8)}.${d}`],
    ['two parts', `${a}.${(b * 256 + c) * 256 + d}`],
    ['three parts', `${a}.${b}.${c * 256 + d}`],
    ['a dot at its end', `${address}.`],
    ['encoded digits', [...address].map((letter) => (/\d/.test(letter) ? `%3${letter}` : letter)).join('')],
    ['encoded dots', address.replaceAll('.', '%2e')],
    [
      'full-width digits',
      [...address]
        .map((letter) => (/\d/.test(letter) ? String.fromCodePoint(0xff10 + Number(letter)) : letter))
        .join(''),
    ],
    [
      'mathematical digits',
      [...address]
        .map((letter) => (/\d/.test(letter) ? String.fromCodePoint(0x1d7d8 + Number(letter)) : letter))
        .join(''),
    ],
    ['ideographic dots', address.replaceAll('.', '。')],
    ['half-width ideographic dots', address.replaceAll('.', '。')],
    ['a soft hyphen in it', `${address.slice(0, 1)}\u00ad${address.slice(1)}`],
    ['mapped into IPv6', `[::ffff:${address}]`],
    ['mapped into IPv6, hexadecimal', `[::ffff:${high}:${low}]`],
    ['mapped into IPv6, written out', `[0000:0000:0000:0000:0000:FFFF:${high}:${low}]`],
    ['compatible with IPv6', `[::${high}:${low}]`],
    ['translated', `[::ffff:0:${high}:${low}]`],
    ['NAT64', `[64:ff9b::${high}:${low}]`],
    ['NAT64, local', `[64:ff9b:1::${high}:${low}]`],
    ['6to4', `[2002:${high}:${low}::1]`],
    ['behind user info', `example.com@${address}`],
    ['behind user info with a port', `example.com:80@${address}`],
    ['behind two signs', `a@b@${address}`],
    ['before a fragment', `${address}#@example.com`],
  ];
}
