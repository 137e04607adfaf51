/** Every block of docs/api.md, run as it is written. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cluster, type Cluster } from './fixture.ts';

const exec = promisify(execFile);
const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'api.md'), 'utf8');

interface Block { title: string; script: string; prints: RegExp }

function blocksOf(text: string): Block[] {
  let title = '';
  return [...text.matchAll(/^## (.+)$|^```sh\n([\s\S]*?)^```\n(?:<!-- prints: (.+) -->)?/gm)].flatMap(([, heading, script, prints]): Block[] => {
    if (heading !== undefined) {
      title = heading;
      return [];
    }
    assert.ok(prints !== undefined, `the block after "${title}" does not say what it prints: ${script}`);
    return [{ title, script: script!, prints: new RegExp(prints, 's') }];
  });
}

describe('docs/api.md', function () {
  this.timeout(60_000);
  const blocks = blocksOf(page);
  let c: Cluster;
  let environment: Record<string, string>;
  before(async () => {
    c = await cluster();
    const { token } = await c.newToken();
    environment = { PATH: process.env['PATH'] ?? '', PROBEYARD_URL: c.url, PROBEYARD_TOKEN: token, SOURCE: `${(await c.origin()).url}/tiny.mp4` };
  });
  after(() => c.close());

  it('has blocks that are run', () => assert.ok(blocks.length > 15));

  for (const [index, { title, script, prints }] of blocks.entries()) {
    it(`${index + 1}. ${title}: ${script.split('\n')[0]!.slice(0, 40)}…`, async () => {
      const { stdout, stderr } = await exec('bash', ['--norc', '-euo', 'pipefail', '-c', script], { env: environment, timeout: 50_000, maxBuffer: 64 * 1024 * 1024 });
      assert.match(stdout, prints, `${stdout.slice(0, 1_000)}${stderr}`);
    });
  }
});
