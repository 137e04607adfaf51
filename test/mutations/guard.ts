/**
 * A guard is a behaviour that no type and no table enforces. Taking it out replaces one export of one module, or one
 * method of one class, with the code as it would be without it; a test must fail then. The compiler checks names and
 * shapes, so a rename breaks here and nowhere else.
 */

export interface Guard {
  /** The behaviour that the guard ensures. */
  keeps: string;
  /** The test file that fails without it. */
  test: string;
  module: () => Promise<object>;
  /** An export, or a class and its method. */
  name: string;
  method?: string;
  replace: (original: never) => unknown;
}

export function without<M extends object, K extends keyof M & string>(
  keeps: string,
  test: string,
  module: () => Promise<M>,
  name: K,
  replace: (original: M[K]) => M[K],
): Guard {
  return { keeps, test, module, name, replace };
}

type Class = abstract new (...args: never[]) => object;
type Method = (this: never, ...args: never[]) => unknown;
type MethodsOf<C extends Class> = {
  [K in keyof InstanceType<C>]: InstanceType<C>[K] extends Method ? K : never;
}[keyof InstanceType<C>] &
  string;

/** `replace` gets the original method, with the instance as its first argument. */
export function withoutMethod<
  M extends object,
  C extends { [K in keyof M]: M[K] extends Class ? K : never }[keyof M] & string,
  K extends MethodsOf<Extract<M[C], Class>>,
>(
  keeps: string,
  test: string,
  module: () => Promise<M>,
  name: C,
  method: K,
  replace: (original: InstanceType<Extract<M[C], Class>>[K]) => InstanceType<Extract<M[C], Class>>[K],
): Guard {
  return { keeps, test, module, name, method, replace };
}
