import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { hasLink, readLinks } from '../../node/links.ts';

const LINK = 'probeyard-test';
const SHOW = `import('${new URL('../../node/links.ts', import.meta.url).href}')
  .then(async ({ hasLink, readLinks }) => console.log(JSON.stringify([hasLink('${LINK}'), await readLinks()])));`;

describe('node: links', () => {
  it("are those of the process's own network namespace, although /sys shows another", async function () {
    if (process.getuid?.() !== 0) {
      console.log('      skipped: a network namespace needs root');
      return this.skip();
    }
    const script = `ip link add ${LINK} type bridge && exec "$0" -e "$1"`;
    const printed = execFileSync('unshare', ['--net', 'sh', '-c', script, process.execPath, SHOW], {
      encoding: 'utf8',
    });
    const [isThere, inside] = JSON.parse(printed) as [boolean, string[]];
    assert.ok(isThere);
    assert.ok(inside.includes(LINK) && inside.includes('lo'), inside.join(', '));
    assert.ok(!hasLink(LINK));
    assert.ok(!(await readLinks()).includes(LINK));
  });
});
