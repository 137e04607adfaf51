/**
 * Loaded before a part of the product (--import): its wall clock is off by so much, as on a node whose time is not
 * kept.
 */
const Real = Date;
const by = Number(process.env.CLOCK_SKEW_MS ?? 0);
globalThis.Date = new Proxy(Real, {
  construct: (target, args, self) => Reflect.construct(target, args.length === 0 ? [Real.now() + by] : args, self),
  apply: () => new Real(Real.now() + by).toString(),
  get: (target, key) => (key === 'now' ? () => Real.now() + by : Reflect.get(target, key)),
});
