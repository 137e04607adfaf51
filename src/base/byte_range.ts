/** The bytes that a request asks for. */
export interface ByteRange {
  from: number;
  /** Behind the last one. */
  to: number;
}

/**
 * A single range of a file of known size, by the header `Range`. `none`: it is not in the file. Undefined: the whole is
 * sent, as for several ranges or a unit other than bytes.
 */
export function rangeIn(header: string | undefined, size: number): ByteRange | 'none' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'none' : { from: size - length, to: size };
  }
  if (last !== '' && Number(last) < Number(first)) return undefined;
  if (Number(first) >= size) return 'none';
  return { from: Number(first), to: last === '' ? size : Math.min(Number(last) + 1, size) };
}
