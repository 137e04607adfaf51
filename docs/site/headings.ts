/** Anchors of headings, as Git hosting sites make them, so that one link works in both places. */
export type Anchors = (heading: string) => string;

export function anchors(): Anchors {
  const used = new Map<string, number>();
  return (heading) => {
    const plain = heading
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-');
    const count = used.get(plain) ?? 0;
    used.set(plain, count + 1);
    return count === 0 ? plain : `${plain}-${count}`;
  };
}
