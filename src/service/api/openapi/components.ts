/** Schemas with a title are placed once, under components, and referred to wherever they are used. */

export class DescriptionError extends Error {
  readonly code = 'description-invalid';
}

/** Keywords that contain values, not schemas. */
const VALUES = new Set(['default', 'examples', 'enum', 'const']);

export interface Components {
  schemas: Record<string, unknown>;
  place(schema: unknown): unknown;
}

export function makeComponents(): Components {
  const schemas: Record<string, unknown> = {};
  const texts = new Map<string, string>();

  const inside = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(place);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, VALUES.has(name) ? member : place(member)]),
    );
  };

  function place(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const { title } = value as { title?: unknown };
    if (typeof title !== 'string') return inside(value);
    if (!/^[A-Za-z][A-Za-z0-9]*$/.test(title))
      throw new DescriptionError(`the title "${title}" is not a valid component name`);
    const text = JSON.stringify(value);
    const known = texts.get(title);
    if (known !== undefined && known !== text) throw new DescriptionError(`two schemas are called ${title}`);
    if (known === undefined) {
      texts.set(title, text);
      schemas[title] = inside(value);
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  return { schemas, place };
}
