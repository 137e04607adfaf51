/** Whether a parsed value has members: neither null nor a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Of what is no object: none. */
export const membersOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
