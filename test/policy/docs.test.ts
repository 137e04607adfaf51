import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { evaluate } from '../../src/media/policy/evaluate.ts';
import { OPERATOR_NAMES } from '../../src/media/policy/operators.ts';
import { readPolicyText } from '../../src/media/policy/read.ts';
import { outputFacts } from './facts.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'policies.md'), 'utf8');
const BLOCKS = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text]) => text!);

/** The outcome that the comment behind a rule's name promises. */
const promised = (text: string): [string, string][] =>
  [...text.matchAll(/^ {2}- (?:\{ )?name: ([\w-]+).*# ([a-z-]+)$/gm)].map(([, name, outcome]) => [name!, outcome!]);

describe('docs/policies.md', () => {
  const facts = outputFacts('web.mp4');
  for (const [index, text] of BLOCKS.entries())
    it(`example ${index + 1}: every rule has the outcome that is written beside it`, () => {
      const { rules } = evaluate(readPolicyText(text, 'text/yaml').policy, facts);
      assert.deepEqual(
        rules.map(({ name, outcome }) => [name, outcome]),
        promised(text),
        JSON.stringify(rules, null, 1),
      );
    });

  it('has an example of every operator', () => {
    const missing = OPERATOR_NAMES.filter((name) => !BLOCKS.some((text) => new RegExp(`[ {]${name}: `).test(text)));
    assert.deepEqual(missing, []);
  });
});
