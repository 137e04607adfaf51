/** The text of a stream; undefined if it is longer than `most` bytes. */
export async function boundedText(stream: AsyncIterable<Uint8Array>, most: number): Promise<string | undefined> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of stream) {
    length += part.length;
    if (length > most) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
