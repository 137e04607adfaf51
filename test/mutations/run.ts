/**
 * `make mutations`: takes each guard out of a copy of the tree, one at a time, and runs its test, which must go red. ONLY=<text>[;<text>]: those
 * whose area, guard, file or test holds one of the texts. docs/mutations.md gets what came of them; of the others it keeps what it says.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apply, copyTree, ROOT } from './copy.ts';
import { AREAS } from './list.ts';
import type { Mutation } from './mutation.ts';
import { cell, page, verdictsIn, type Outcome } from './page.ts';
import { trial, type Trial } from './trial.ts';

const only = (process.env['ONLY'] ?? '').toLowerCase().split(';').map((text) => text.trim()).filter((text) => text !== '');
const wanted = AREAS.map(({ title, mutations }) => ({ title, mutations: mutations.filter(({ guard, file, test, grep = '' }) => only.length === 0 || only.some((part) => [title, guard, file, test, grep].some((text) => text.toLowerCase().includes(part)))) }));
const count = wanted.reduce((sum, { mutations }) => sum + mutations.length, 0);
const copy = copyTree();
process.on('exit', () => copy.remove());

const unchanged = new Map<string, Trial>();
/** Red without a mutation says nothing. Once for all that have the same tests. */
async function before(mutation: Mutation): Promise<Trial> {
  const key = `${mutation.test}\n${mutation.grep ?? ''}`;
  const known = unchanged.get(key) ?? await trial(copy, mutation);
  unchanged.set(key, known);
  return known;
}

async function outcomeOf(mutation: Mutation): Promise<Outcome> {
  const restore = apply(copy, mutation);
  restore();
  const good = await before(mutation);
  if (good.verdict !== 'green') return { mutation, verdict: 'unsound', detail: `without the mutation: ${good.verdict}, ${good.detail}`, ms: good.ms };
  apply(copy, mutation);
  try {
    const { verdict, detail, ms } = await trial(copy, mutation);
    return { mutation, verdict, detail, ms };
  } finally {
    restore();
  }
}

const started = performance.now();
const all: Outcome[] = [];
let done = 0;
for (const { mutations } of wanted) {
  for (const mutation of mutations) {
    const outcome = await outcomeOf(mutation).catch((error: unknown): Outcome => ({ mutation, verdict: 'unsound', detail: (error as Error).message, ms: 0 }));
    all.push(outcome);
    console.log(`${String(++done).padStart(3)}/${count} ${outcome.verdict.padEnd(7)} ${(outcome.ms / 1000).toFixed(1).padStart(5)} s  ${mutation.guard}${outcome.verdict === 'red' ? '' : `\n        ${mutation.file}; ${mutation.test}: ${outcome.detail.slice(0, 400)}`}`);
  }
}
const red = all.filter(({ verdict }) => verdict === 'red').length;
const path = join(ROOT, 'docs/mutations.md');
const standing = existsSync(path) ? verdictsIn(readFileSync(path, 'utf8')) : new Map<string, Outcome['verdict']>();
const tried = new Map(all.map((outcome) => [outcome.mutation, outcome]));
writeFileSync(path, page(AREAS.map(({ title, mutations }) => ({
  title, outcomes: mutations.map((mutation) => tried.get(mutation) ?? { mutation, verdict: standing.get(cell(mutation.guard)) ?? 'unsound', detail: '', ms: 0 }),
}))));
console.log(`${red} of ${all.length} mutations turn a test red (${Math.round((performance.now() - started) / 1000)} s)`);
process.exit(red === all.length && all.length > 0 ? 0 : 1);
