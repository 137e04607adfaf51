/** What an agent in the cluster was started from, and starts. A renewed runner waits for it between two tenants. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleAgent } from '../../images/agent_bundle.ts';
import { withScratch } from '../../images/cache.ts';
import { AGENT_PROGRAM } from '../../src/service/controller/pools/pod.ts';
import { PODS } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { RUNNERS, cluster, eventually, type Cluster } from './fixture.ts';

interface Started {
  commandLine: string[];
  /** What Node says about its compile cache when the same program starts again. It ends for want of settings. */
  cache: string;
  /** SHA-256 of the files that runners start, by their names. */
  files: Record<string, string>;
}
const LOOK = `
  const { readdirSync, readFileSync } = require('node:fs');
  const { createHash } = require('node:crypto');
  const { dirname } = require('node:path');
  const { spawnSync } = require('node:child_process');
  const { NODE_COMPILE_CACHE, NODE_OPTIONS } = process.env;
  const isChild = (pid) => /^PPid:\\t1$/m.test(readFileSync('/proc/' + pid + '/status', 'utf8'));
  const [agent] = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && isChild(name));
  const commandLine = readFileSync('/proc/' + agent + '/cmdline', 'utf8').split('\\0').slice(0, -1);
  const env = { NODE_COMPILE_CACHE, NODE_OPTIONS, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' };
  const { stderr } = spawnSync(process.execPath, [${JSON.stringify(AGENT_PROGRAM)}], { env, encoding: 'utf8' });
  const folder = dirname(${JSON.stringify(AGENT_PROGRAM)});
  const hash = (name) => createHash('sha256').update(readFileSync(folder + '/' + name)).digest('hex');
  const files = Object.fromEntries(readdirSync(folder).map((name) => [name, hash(name)]));
  console.log(JSON.stringify({ commandLine, cache: stderr, files }));
`;

describe('the start of an agent', function () {
  this.timeout(120_000);
  let c: Cluster;
  let started: Started;
  before(async () => {
    c = await cluster();
    const labelSelector = `${LABEL.component}=runner,${LABEL.pool}=short`;
    // A runner may be replaced in this moment.
    started = await eventually('a runner can be asked', 60, async () => {
      const { items } = await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector });
      const pod = items.find(({ status }) => status?.phase === 'Running')?.metadata.name;
      if (pod === undefined) return undefined;
      const said = await c.kubectl('-n', RUNNERS, 'exec', pod, '-c', 'agent', '--', '/app/bin/node', '-e', LOOK);
      return JSON.parse(said) as Started;
    });
  });
  after(() => c?.close());

  it('runs the one file, not the modules', () =>
    assert.deepEqual(started.commandLine, ['/app/bin/node', AGENT_PROGRAM]));

  it('has the files that this checkout makes, for the agent and for what it starts', () =>
    withScratch(async (folder) => {
      await bundleAgent(folder);
      const hash = (name: string) =>
        createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex');
      assert.deepEqual(started.files, Object.fromEntries(readdirSync(folder).map((name) => [name, hash(name)])));
    }));

  it('takes the file from the compile cache of the image, as its user', () =>
    assert.match(started.cache, new RegExp(`code cache for CommonJS ${AGENT_PROGRAM} was accepted`)));
});
