import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { crates, goModules, npmPackages, THIRD_PARTY_PAGE } from '../../images/third_party.ts';

describe('third-party packages', () => {
  for (const [what, packages] of [
    ['npm packages of the product', npmPackages],
    ['Go modules of the NATS server', goModules],
    ['Rust crates of the C2PA tool', crates],
  ] as const)
    it(`docs/third-party.md lists the ${what} (if not: node images/third_party.ts)`, async () => {
      const page = (await readFile(THIRD_PARTY_PAGE, 'utf8')).replaceAll(/\s+/g, ' ');
      const listed = await packages();
      assert.notEqual(listed.length, 0);
      const missing = listed.filter(({ name, version }) => !page.includes(`\`${name}\` ${version}`));
      assert.deepEqual(missing, []);
    });

  it('every npm package and Go module declares a licence', async () => {
    const silent = [...(await npmPackages()), ...(await goModules())].filter(
      ({ licence }) => licence === 'not declared',
    );
    assert.deepEqual(silent, []);
  });
});
