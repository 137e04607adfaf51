/** Of what the console is made, for the images that hold it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { bundled, ENTRIES } from '../../images/console_bundle.ts';
import { pageSources } from '../../images/product_image.ts';

const dockerfile = readFileSync(new URL('../../images/probeyard/Dockerfile', import.meta.url), 'utf8');

describe('sources of the console', function () {
  this.timeout(60_000);
  let inputs: string[];
  before(async () => {
    const bundles = await Promise.all((Object.keys(ENTRIES) as (keyof typeof ENTRIES)[]).map((name) => bundled(name)));
    inputs = bundles.flatMap((bundle) => bundle.inputs).filter((path) => !path.startsWith('node_modules/'));
    assert.ok(inputs.includes('src/console/main.tsx'));
  });

  const outside = (sources: readonly string[]): string[] =>
    inputs.filter((path) => !sources.some((source) => path === source || path.startsWith(`${source}/`)));

  it('are part of the key of the pages image', () => assert.deepEqual(outside(pageSources), []));

  it('are copied by the stage of the Dockerfile that bundles it', () => {
    const stage = /^FROM \S+ AS bundler\n([^]*?)^FROM /m.exec(dockerfile)![1]!;
    const copied = [...stage.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, sources]) => sources!.split(' '));
    assert.deepEqual(outside(copied.map((source) => source.replace(/\/$/, ''))), []);
  });
});
