/** Every code block of docs/api.md, run as written. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { aMain, vod } from '../hls/examples/playlists.ts';
import { newAuthority, newSigner } from '../c2pa/pki.ts';
import { C2paRig, programs, WHY_SKIPPED } from '../c2pa/rig.ts';
import { sampleOf } from '../c2pa/samples.ts';
import { sendFile } from '../source/origin.ts';
import { cluster, type Cluster } from './fixture.ts';

const exec = promisify(execFile);
const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'api.md'), 'utf8');

interface Block {
  title: string;
  script: string;
  prints: RegExp;
}

function blocksOf(text: string): Block[] {
  let title = '';
  return [...text.matchAll(/^## (.+)$|^```sh\n([\s\S]*?)^```\n+(?:<!-- prints: (.+) -->)?/gm)].flatMap(
    ([, heading, script, prints]): Block[] => {
      if (heading !== undefined) {
        title = heading;
        return [];
      }
      assert.ok(prints !== undefined, `the block after "${title}" does not say what it prints: ${script}`);
      return [{ title, script: script!, prints: new RegExp(prints, 's') }];
    },
  );
}

describe('docs/api.md', function () {
  this.timeout(60_000);
  const blocks = blocksOf(page);
  let c: Cluster;
  const rig = programs && new C2paRig();
  let environment: Record<string, string>;
  before(async () => {
    c = await cluster();
    const { token } = await c.newToken();
    const files: Record<string, Buffer> = { '/main.m3u8': Buffer.from(aMain()), '/video.m3u8': Buffer.from(vod()) };
    if (rig)
      files['/signed.mp4'] = rig.sign([
        { ...sampleOf('MP4'), signer: await newSigner(await newAuthority('Root')) },
      ])[0]!;
    const { url: others } = await c.origin((request, response) => {
      const file = files[request.url ?? ''];
      if (file) sendFile(file, request, response);
      else response.writeHead(404).end('not here');
    });
    environment = {
      PATH: process.env['PATH'] ?? '',
      PROBEYARD_URL: c.url,
      PROBEYARD_TOKEN: token,
      PROBEYARD_ADMIN_TOKEN: c.token,
      SOURCE: `${(await c.origin()).url}/tiny.mp4`,
      PLAYLIST: `${others}/main.m3u8`,
      SIGNED: `${others}/signed.mp4`,
    };
  });
  after(async () => {
    rig?.close();
    await c.close();
  });

  it('has code blocks to run', () => assert.ok(blocks.length > 15));

  for (const [index, { title, script, prints }] of blocks.entries()) {
    if (!rig && script.includes('$SIGNED')) {
      it.skip(`${index + 1}. ${title}: skipped: ${WHY_SKIPPED}`);
      continue;
    }
    it(`${index + 1}. ${title}: ${script.split('\n')[0]!.slice(0, 40)}…`, async () => {
      const { stdout, stderr } = await exec('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
        env: environment,
        timeout: 50_000,
        maxBuffer: 64 * 1024 * 1024,
      });
      assert.match(stdout, prints, `${stdout.slice(0, 1_000)}${stderr}`);
    });
  }
});
