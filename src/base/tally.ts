/** How many there are of each key. A key without any is forgotten. */
export class Tally<K> extends Map<K, number> {
  total = [...this.values()].reduce((sum, one) => sum + one, 0);

  of = (key: K): number => this.get(key) ?? 0;

  add(key: K, by = 1): void {
    const now = this.of(key) + by;
    if (now > 0) this.set(key, now);
    else this.delete(key);
    this.total += by;
  }
}
