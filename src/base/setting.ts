/** A setting: its environment variable, its default, and how its text is read. */
export interface Setting<T> {
  variable: string;
  fallback: T | undefined;
  parse: (text: string) => T;
}

export const text = (variable: string, fallback?: string): Setting<string> => ({
  variable,
  fallback,
  parse: (value) => value,
});

export const oneOf = <const T extends string>(variable: string, values: readonly T[], fallback?: T): Setting<T> => ({
  variable,
  fallback,
  parse: (value) => {
    if (!(values as readonly string[]).includes(value)) throw new Error(`must be one of ${values.join(', ')}`);
    return value as T;
  },
});

export const integer = (variable: string, minimum: number, maximum: number, fallback?: number): Setting<number> => ({
  variable,
  fallback,
  parse: (value) => {
    const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= minimum && number <= maximum)) throw new Error(`must be an integer from ${minimum} to ${maximum}`);
    return number;
  },
});

/** Null: not set. */
export const integerOrNull = (variable: string, minimum: number, maximum: number): Setting<number | null> => ({
  variable,
  fallback: null,
  parse: integer(variable, minimum, maximum).parse,
});

export const flag = (variable: string, fallback: boolean): Setting<boolean> => ({
  variable,
  fallback,
  parse: (value) => {
    if (value !== 'true' && value !== 'false') throw new Error('must be true or false');
    return value === 'true';
  },
});

export const httpUrl = (variable: string, fallback?: string): Setting<string> => ({
  variable,
  fallback,
  parse: (value) => {
    if (!/^https?:\/\/[^/?#@\s]+\/?$/.test(value) || !URL.canParse(value))
      throw new Error('must be http:// or https:// with a host, and nothing after it');
    return value.replace(/\/$/, '');
  },
});

export const json = <T>(
  variable: string,
  what: string,
  is: (value: unknown) => value is T,
  fallback?: T,
): Setting<T> => ({
  variable,
  fallback,
  parse: (value) => {
    let parsed: unknown;
    try {
      parsed = JSON.parse(value);
    } catch {
      throw new Error('is not valid JSON');
    }
    if (!is(parsed)) throw new Error(`must be ${what}`);
    return parsed;
  },
});

/** `:8080`, `0.0.0.0:8080` or `[::1]:8080`. */
export const listen = (variable: string, fallback?: string): Setting<{ host: string | undefined; port: number }> => {
  const parse = (value: string) => {
    const match = /^(.*):(\d{1,5})$/.exec(value);
    if (!match || Number(match[2]) > 65535) throw new Error('must be [host]:port');
    return { host: match[1] ? match[1].replace(/^\[|\]$/g, '') : undefined, port: Number(match[2]) };
  };
  return { variable, fallback: fallback === undefined ? undefined : parse(fallback), parse };
};
