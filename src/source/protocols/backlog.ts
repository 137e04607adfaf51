/**
 * A buffer of incomplete input. Appending takes time linear in the appended bytes, whatever their pieces. Returned
 * bytes are never overwritten.
 */
export class Backlog {
  #store: Buffer = Buffer.alloc(0);
  #from = 0;
  #to = 0;

  get length(): number {
    return this.#to - this.#from;
  }

  get bytes(): Buffer {
    return this.#store.subarray(this.#from, this.#to);
  }

  append(bytes: Buffer, from = 0, to = bytes.length): void {
    const length = to - from;
    if (this.#to + length > this.#store.length) {
      const held = this.bytes;
      // The first piece is often the only one.
      this.#store = Buffer.allocUnsafe(held.length === 0 ? length : 2 * (held.length + length));
      held.copy(this.#store);
      this.#from = 0;
      this.#to = held.length;
    }
    // A call of copy() costs as much as writing some tens of bytes.
    if (length > 16) bytes.copy(this.#store, this.#to, from, to);
    else for (let i = 0; i < length; i++) this.#store[this.#to + i] = bytes[from + i]!;
    this.#to += length;
  }

  drop(count: number): void {
    this.#from += Math.min(count, this.length);
  }
}
