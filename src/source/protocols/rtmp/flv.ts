/** RTMP carries FLV tags without the file format: adds the file header and the tag headers. */

export function flvHeader(audio: boolean, video: boolean): Buffer {
  return Buffer.from([0x46, 0x4c, 0x56, 1, (audio ? 4 : 0) | (video ? 1 : 0), 0, 0, 0, 9, 0, 0, 0, 0]);
}

export function flvTag(type: number, timestamp: number, body: Buffer): Buffer {
  const tag = Buffer.allocUnsafe(15 + body.length);
  tag[0] = type;
  tag.writeUIntBE(body.length, 1, 3);
  tag.writeUIntBE(timestamp & 0xffffff, 4, 3);
  tag[7] = (timestamp >>> 24) & 0xff;
  tag.writeUIntBE(0, 8, 3);
  body.copy(tag, 11);
  tag.writeUInt32BE(11 + body.length, 11 + body.length);
  return tag;
}

/** The tags of an aggregate message, shifted to the message's timestamp. */
export function* aggregated(
  body: Buffer,
  timestamp: number,
): Generator<{ type: number; timestamp: number; body: Buffer }> {
  let first: number | undefined;
  for (let at = 0; at + 11 <= body.length;) {
    const type = body[at]!;
    const length = body.readUIntBE(at + 1, 3);
    const time = body.readUIntBE(at + 4, 3) | (body[at + 7]! << 24);
    first ??= time;
    if (at + 11 + length > body.length) return;
    yield { type, timestamp: (timestamp + time - first) >>> 0, body: body.subarray(at + 11, at + 11 + length) };
    at += 15 + length;
  }
}
