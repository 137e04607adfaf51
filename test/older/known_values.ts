/** Values of this version's chart, without what an older chart does not know and would refuse. */

/** As far as the charts' schemas go: objects and lists without references. */
export interface Schema {
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  enum?: readonly unknown[];
}

/** Not a tool, say, that came later. */
function isKnown(item: unknown, { properties = {} }: Schema): boolean {
  return Object.entries(item ?? {}).every(([name, value]) => properties[name]?.enum?.includes(value) ?? true);
}

export function knownValues(values: unknown, schema: Schema): unknown {
  if (Array.isArray(values)) {
    const { items = {} } = schema;
    return values.filter((item) => isKnown(item, items)).map((item) => knownValues(item, items));
  }
  if (values === null || typeof values !== 'object') return values;
  const { properties = {}, additionalProperties: others = true } = schema;
  return Object.fromEntries(
    Object.entries(values)
      .filter(([name]) => name in properties || others !== false)
      .map(([name, value]) => [
        name,
        knownValues(value, properties[name] ?? (typeof others === 'object' ? others : {})),
      ]),
  );
}
