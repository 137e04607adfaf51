/** An MP3 whose ID3 tag is a text of the caller's choice, which ffprobe prints. The result is as large as that text. */
export function taggedMp3(text: string | Buffer): Buffer {
  const synchsafe = (value: number) =>
    Buffer.from([(value >> 21) & 127, (value >> 14) & 127, (value >> 7) & 127, value & 127]);
  const body = Buffer.concat([Buffer.from('\u0003k\0'), Buffer.from(text)]);
  const frame = Buffer.concat([Buffer.from('TXXX'), synchsafe(body.length), Buffer.alloc(2), body]);
  const audio = Buffer.concat([Buffer.from([255, 251, 144, 0]), Buffer.alloc(413)]);
  return Buffer.concat([
    Buffer.from('ID3\u0004\0\0', 'latin1'),
    synchsafe(frame.length),
    frame,
    ...Array.from({ length: 200 }, () => audio),
  ]);
}
