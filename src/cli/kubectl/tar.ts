/** A tar archive of a few small files (ustar). */

export interface File {
  name: string;
  content: Buffer;
}

const BLOCK = 512;
const MODE = '0000600';

function header({ name, content }: File, modified: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');
  // A name of more than 100 bytes has its folders in a field of their own.
  const folders = name.length > 100 ? name.slice(0, name.lastIndexOf('/')) : '';
  block.write(folders === '' ? name : name.slice(folders.length + 1), 0, 100, 'utf8');
  block.write(`${MODE}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100, 'latin1');
  block.write(`${octal(content.length, 11)}\0${octal(modified, 11)}\0`, 124, 'latin1');
  block.write(`        0`, 148, 'latin1');
  block.write('ustar\u000000', 257, 'latin1');
  block.write(folders, 345, 155, 'utf8');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148, 'latin1');
  return block;
}

export function tarOf(files: readonly File[], modified: Date): Buffer {
  const seconds = Math.floor(modified.getTime() / 1_000);
  return Buffer.concat([
    ...files.flatMap((file) => [
      header(file, seconds),
      file.content,
      Buffer.alloc((BLOCK - (file.content.length % BLOCK)) % BLOCK),
    ]),
    Buffer.alloc(2 * BLOCK),
  ]);
}
