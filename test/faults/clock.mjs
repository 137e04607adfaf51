/**
 * Loaded before a part of the product (--import): its wall clock is off by so much, as on a node whose time is not
 * kept. With CLOCK_JUMP_MS it jumps ahead at SIGUSR2, and back at the next one.
 */
const Real = Date;
const jump = Number(process.env.CLOCK_JUMP_MS ?? 0);
let by = Number(process.env.CLOCK_SKEW_MS ?? 0);
if (jump !== 0) process.on('SIGUSR2', () => (by = by === 0 ? jump : 0));
globalThis.Date = new Proxy(Real, {
  construct: (target, args, self) => Reflect.construct(target, args.length === 0 ? [Real.now() + by] : args, self),
  apply: () => new Real(Real.now() + by).toString(),
  get: (target, key) => (key === 'now' ? () => Real.now() + by : Reflect.get(target, key)),
});
