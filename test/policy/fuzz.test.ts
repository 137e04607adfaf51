/** Whatever is sent as a policy, and whatever a tool said of a file: `POLICY_ROUNDS=20000` runs longer. */
import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { random, type Random } from '../../bench/report/random.ts';
import { junitText } from '../../src/media/ci_formats/junit.ts';
import { judgedByPolicy } from '../../src/media/ci_formats/policy_rules.ts';
import { sarifText } from '../../src/media/ci_formats/sarif.ts';
import { PolicyError } from '../../src/media/policy/error.ts';
import { evaluate } from '../../src/media/policy/evaluate.ts';
import { MOST_STEPS } from '../../src/media/policy/limits.ts';
import { readPolicy, readPolicyText } from '../../src/media/policy/read.ts';
import { Meter } from '../../src/media/policy/run.ts';
import { PolicyResultSchema, type Policy } from '../../src/media/policy/schema.ts';
import type { Facts } from '../../src/media/policy/types.ts';
import { outputFacts } from './facts.ts';

const ROUNDS = Number(process.env['POLICY_ROUNDS'] ?? 400);
const SEED = Number(process.env['POLICY_SEED'] ?? 1);
const validResult = new Ajv({ strict: true, allowUnionTypes: true }).compile(PolicyResultSchema);

const folder = join(import.meta.dirname, '..', '..', 'charts/probeyard/files/policies');
const YAML = globSync(join(folder, '*.yaml'))
  .sort()
  .map((file) => readFileSync(file, 'utf8'));
const XML = `<?xml version="1.0"?><policy type="and" name="a &amp; b"><description>d</description>
  <rule name="r" value="Format" tracktype="Video" occurrence="*" operator="=">FFV1</rule>
  <policy type="or"><rule value="BitDepth" tracktype="Video" operator="&gt;=">8</rule>
  <rule value="StreamOrder" tracktype="Video" occurrence="1" operator="&lt;"><source value="StreamOrder"
  tracktype="Audio" occurrence="1"/></rule></policy><!-- c --><rule scope="mt" value="x"/></policy>`;

const ODD: unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  0.1,
  '',
  ' ',
  '0/0',
  '24000/1001',
  '99999999999999999999',
  'NaN',
  '__proto__',
  'constructor',
  '\u0000',
  '\ud800',
  '*'.repeat(99),
  '?*'.repeat(40),
  'a'.repeat(2000),
  [],
  {},
  [[]],
  [{}],
  { field: 'x' },
  { path: 'streams[*]' },
  { value: 1, tolerance: '1 frame' },
  'streams[0][1].a',
  'video[9999].codec.name',
  '5 Mbit/s',
  'exactly 3',
];
const NAMES = (
  'name field is not in each match when all any none tool path count within between matches exists findings c2pa ' +
  'warnings disagreement confidence __proto__'
).split(' ');

function any(draw: Random, depth = 0): unknown {
  if (depth > 5 || draw.chance(0.5)) return draw.pick(ODD);
  if (draw.chance(0.4)) return Array.from({ length: draw.between(0, 4) }, () => any(draw, depth + 1));
  return Object.fromEntries(Array.from({ length: draw.between(0, 4) }, () => [draw.pick(NAMES), any(draw, depth + 1)]));
}

/** Some values of a real one are others. */
function spoiled(value: unknown, draw: Random, chance: number): unknown {
  if (draw.chance(chance)) return draw.chance(0.2) ? any(draw) : draw.pick(ODD);
  if (Array.isArray(value)) return value.map((member) => spoiled(member, draw, chance));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(() => !draw.chance(chance / 2))
      .map(([key, member]) => [draw.chance(chance / 2) ? draw.pick(NAMES) : key, spoiled(member, draw, chance)]),
  );
}

function scrambled(text: string, draw: Random): string {
  let made = text;
  for (let edits = draw.between(1, 6); edits > 0; edits--) {
    const at = draw.between(0, made.length);
    const insert = draw.pick([
      '',
      '<',
      '&',
      '"',
      '[',
      ']',
      '{',
      '}',
      ':',
      '- ',
      '\n  ',
      '&a ',
      '*a',
      '<!',
      '\u0000',
      '9',
      '.',
      made.slice(0, 40),
    ]);
    made = made.slice(0, at) + insert + made.slice(at + draw.between(0, 8));
  }
  return made;
}

function attempt(what: string, read: () => Policy): Policy | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof PolicyError) {
      assert.ok(error.message.length < 1000, 'a message as long as what it is about');
      return undefined;
    }
    throw new Error(`${what} (POLICY_SEED=${SEED}): ${(error as Error).message}`, { cause: error });
  }
}

function judge(policy: Policy, of: Facts, what: string): void {
  const meter = new Meter();
  try {
    const result = { name: null, revision: null, ...evaluate(policy, of, meter) };
    assert.ok(validResult(result), JSON.stringify(validResult.errors));
    assert.ok(meter.left > -MOST_STEPS);
    const judged = [judgedByPolicy(result, 'x')];
    assert.ok(!junitText(judged).includes('\0'));
    JSON.parse(sarifText(judged));
  } catch (error) {
    throw new Error(`${what} (POLICY_SEED=${SEED}): ${(error as Error).message}`, { cause: error });
  }
}

describe('policy: whatever is sent', function () {
  this.timeout(600_000);
  const real = ['web.mp4', 'podcast.mp3', 'edit_list.mp4', 'cut.mov'].map(outputFacts);
  const policies = YAML.map((text) => readPolicyText(text, 'text/yaml').policy);
  const hls = { messages: [{ level: 'must-fix', code: 'a', url: 'u' }], summary: { must_fix: 1 }, variants: [{}] };
  const c2pa = {
    validation_state: 'Valid',
    active_manifest: 'a',
    manifests: { a: { signature_info: { issuer: 'x' } } },
  };

  it(`data with other values in it is read or refused, and judged: ${ROUNDS} times`, () => {
    const draw = random(SEED);
    let accepted = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const value = draw.chance(0.1) ? any(draw) : spoiled(draw.pick(policies), draw, 0.002);
      const policy = attempt(`round ${round}`, () => readPolicy(value));
      if (policy === undefined) continue;
      accepted++;
      judge(policy, draw.pick(real), `round ${round}`);
    }
    assert.ok(accepted > ROUNDS / 20, `only ${accepted} were read`);
  });

  it(`facts with other values in them are judged: ${ROUNDS} times`, () => {
    const draw = random(SEED + 1);
    for (let round = 0; round < ROUNDS; round++) {
      const of = draw.pick(real);
      const printed = (value: unknown, share: number): string => JSON.stringify(spoiled(value, draw, share));
      const checked = (name: string, report: object) => ({
        name,
        version: '1.0.0',
        success: true,
        output: printed(report, 0.1),
      });
      const tools = of.tools.map((tool) => ({ ...tool, output: printed(JSON.parse(tool.output!), 0.01) }));
      const changed = {
        report: spoiled(of.report, draw, 0.01) as object,
        tools: [...tools, checked('msv', hls), checked('c2pa', c2pa)],
      };
      judge(draw.pick(policies), changed, `round ${round}`);
    }
  });

  for (const [type, texts] of [
    ['application/yaml', YAML],
    ['application/json', policies.map((policy) => JSON.stringify(policy))],
    ['application/xml', [XML]],
  ] as const)
    it(`${type} with other characters in it is read or refused: ${ROUNDS} times`, () => {
      const draw = random(SEED + 2);
      for (let round = 0; round < ROUNDS; round++) {
        const text = scrambled(draw.pick(texts), draw);
        const policy = attempt(`round ${round}`, () => readPolicyText(text, type).policy);
        if (policy !== undefined) judge(policy, real[0]!, `round ${round}`);
      }
    });
});
