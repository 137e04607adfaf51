/**
 * Takes one guard out of a process before anything else is loaded: `GUARD='what it keeps' node --import
 * test/mutations/take_out.ts …`. Importers of the module get one that re-exports the original except for the replaced
 * name. The first call of a replaced function is recorded in the file GUARD_CALLED; without it, a failing test has
 * failed for another reason.
 */
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import type { Guard } from './guard.ts';

const ORIGINAL = '?original';
const SUBSTITUTE = '?substitute';
const PLACE = Symbol.for('probeyard.substitute');

const noted = (value: unknown): unknown => {
  if (typeof value !== 'function') {
    note();
    return value;
  }
  return new Proxy(value, {
    apply(target, self, args) {
      note();
      return Reflect.apply(target, self, args) as unknown;
    },
  });
};

function note(): void {
  const file = process.env['GUARD_CALLED'];
  if (file !== undefined) writeFileSync(file, 'called');
}

/** The module as its importers see it from now on. */
function substitute(url: string, name: string): string {
  return [
    `export * from ${JSON.stringify(url + ORIGINAL)};`,
    `export const ${name} = globalThis[Symbol.for('probeyard.substitute')];`,
  ].join('\n');
}

export async function takeOut({ module, name, method, replace }: Guard): Promise<void> {
  let target: string | undefined;
  let looking = true;
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      // The first module that is resolved is that of the guard.
      if (looking) {
        looking = false;
        if (method !== undefined) return resolved;
        target = resolved.url;
        return { ...resolved, url: target + ORIGINAL };
      }
      return resolved.url === target ? { ...resolved, url: target + SUBSTITUTE } : resolved;
    },
    load(url, context, next) {
      if (url !== `${target}${SUBSTITUTE}`) return next(url, context);
      return { format: 'module', source: substitute(target!, name), shortCircuit: true };
    },
  });
  const original = (await module()) as Record<string, unknown>;
  const by = replace as (original: unknown) => unknown;
  if (method === undefined) (globalThis as Record<symbol, unknown>)[PLACE] = noted(by(original[name]));
  else {
    const { prototype } = original[name] as { prototype: Record<string, unknown> };
    prototype[method] = noted(by(prototype[method]));
  }
}

const wanted = process.env['GUARD'];
if (wanted !== undefined) {
  const { GUARDS } = await import('./list.ts');
  const guard = GUARDS.find(({ keeps }) => keeps === wanted);
  if (!guard) throw new Error(`there is no guard "${wanted}"`);
  await takeOut(guard);
}
