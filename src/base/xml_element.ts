/** The text of the first element of a name in the short XML of cloud services. */
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

export function textIn(xml: string, element: string): string | undefined {
  const found = new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1];
  return found?.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name]!);
}
