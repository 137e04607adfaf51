/** Archives of tar (ustar): regular files that their owner alone may read. */
export const BLOCK = 512;
export const END_OF_ARCHIVE = Buffer.alloc(2 * BLOCK);

/** Behind the bytes of a file, up to the next block. */
export const padding = (length: number): Buffer => Buffer.alloc((BLOCK - (length % BLOCK)) % BLOCK);
export const sumOf = (header: Buffer): number => header.reduce((sum, byte) => sum + byte, 0);
const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`;

export function headerOf(name: string, size: number, seconds: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  // A name of more than 100 bytes has its folders in a field of their own.
  const folders = name.length > 100 ? name.slice(0, name.lastIndexOf('/')) : '';
  header.write(folders === '' ? name : name.slice(folders.length + 1), 0, 100, 'utf8');
  header.write(octal(0o600, 8), 100, 'latin1');
  header.write(octal(0, 8), 108, 'latin1');
  header.write(octal(0, 8), 116, 'latin1');
  header.write(octal(size, 12), 124, 'latin1');
  header.write(octal(seconds, 12), 136, 'latin1');
  header.write(' '.repeat(8), 148, 'latin1');
  header.write('0', 156, 'latin1');
  header.write('ustar\x0000', 257, 'latin1');
  header.write(folders, 345, 155, 'utf8');
  header.write(`${octal(sumOf(header), 7)} `, 148, 'latin1');
  return header;
}
