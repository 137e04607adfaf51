/** Values of this version's chart, without what an older chart does not know and would refuse. */

/** As far as the charts' schemas go: objects and lists without references. */
export interface Schema {
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
}

export function knownValues(values: unknown, schema: Schema): unknown {
  if (Array.isArray(values)) return values.map((item) => knownValues(item, schema.items ?? {}));
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
