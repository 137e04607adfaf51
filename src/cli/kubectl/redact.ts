/** Takes out of a text what must not leave the cluster: credentials, tokens, and the queries of addresses. */

/** Keys are never shown, whatever they are called around. */
const WORDS = ['pass(?:word|phrase|wd)?', 'secret', 'token', 'api[-_]?key', 'private[-_]?key', 'credential'];
const SECRET_NAME = `(?:${[...WORDS, 'authorization', 'cookie', 'sealed', 'signature'].join('|')})`;

const RULES: readonly [RegExp, string][] = [
  [/-----BEGIN [A-Z0-9 ]{1,40}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,40}-----|$)/g, 'REDACTED'],
  // JWT and JWE: two to four parts after the first.
  [/eyJ[\w-]+(?:\.[\w-]*){1,4}/g, 'REDACTED'],
  [/whsec_[A-Za-z0-9+/=_-]+/g, 'REDACTED'],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, 'REDACTED'],
  // Seeds of nkeys.
  [/\bS[UANCOX][A-Z2-7]{56}\b/g, 'REDACTED'],
  [/\b(bearer|basic)(\s+|%20)[^\s"',;\\]+/gi, '$1$2REDACTED'],
  // A query, in an address or a path, up to where it must end; also with the escapes of JSON.
  [/([?&](?:[\w.[\]%-]{1,100})=)(?!REDACTED)[^\s&"'<>\\]*/g, '$1REDACTED'],
  [/(\\u0026(?:[\w.[\]%-]{1,100})=)(?!REDACTED)[^\s&"'<>\\]*/g, '$1REDACTED'],
  [/(:(?:\\?\/){2})[^\s"'<>\\]{0,1000}@/g, '$1'],
  [new RegExp(`("[^"\\n]{0,60}${SECRET_NAME}[^"\\n]{0,60}"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*"`, 'gi'), '$1"REDACTED"'],
  [
    new RegExp(
      `(\\b[\\w.-]{0,60}${SECRET_NAME}[\\w.-]{0,60}\\s*[=:]\\s*)(?!"|REDACTED|null|true|false)[^\\s"',;&}\\]]{6,}`,
      'gi',
    ),
    '$1REDACTED',
  ],
  // API tokens are 64 letters and digits. Digests of images stay: they say what runs.
  [/(?<!sha256:|[A-Za-z0-9])[A-Za-z0-9]{64}(?![A-Za-z0-9])/g, 'REDACTED'],
];

export const redacted = (text: string): string =>
  RULES.reduce((before, [pattern, shown]) => before.replaceAll(pattern, shown), text);

/** Members of resources that hold values of an operator or of a caller. */
const DROPPED = new Set(['managedFields', 'sealed', 'last-applied-configuration', 'data', 'stringData', 'binaryData']);
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** A resource without what may hold a secret: values of variables, data, sealed sources, whole addresses. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? redacted(value) : value;
  const isVariable = 'name' in value && 'value' in value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      if (DROPPED.has(name) || name === LAST_APPLIED) return [];
      if (isVariable && name === 'value') return [[name, 'REDACTED']];
      return [[name, withoutSecrets(member)]];
    }),
  );
}
