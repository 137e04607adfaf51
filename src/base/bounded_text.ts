/** What a stream has; undefined if that is more than `most` bytes. */
export async function boundedBytes(stream: AsyncIterable<Uint8Array>, most: number): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of stream) {
    length += part.length;
    if (length > most) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

export const boundedText = async (stream: AsyncIterable<Uint8Array>, most: number): Promise<string | undefined> =>
  (await boundedBytes(stream, most))?.toString('utf8');
