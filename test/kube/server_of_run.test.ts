/** The API server that all processes of a run share. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RUN_FOLDER } from '../once_per_run.ts';
import { testApiServer } from './apiserver.ts';

const REPOSITORY = new URL('../../', import.meta.url).pathname;
const MODULE = JSON.stringify(join(import.meta.dirname, 'apiserver.ts'));

describe('API server of a run', function () {
  this.timeout(60_000);
  let run: string;
  beforeEach(() => {
    run = mkdtempSync(join(tmpdir(), 'probeyard-run-'));
    mkdirSync(join(run, 'api-server'));
  });
  afterEach(() => rmSync(run, { recursive: true, force: true }));

  /** What another process of the run says of its server. */
  function asked(state: object): string {
    writeFileSync(join(run, 'api-server/state.json'), JSON.stringify(state));
    const program =
      `const { testApiServer, stopApiServers } = await import(${MODULE});` +
      'const server = await testApiServer({ own: true });' +
      `console.log('port', server.port, await server.namespace('of-run') !== '', server.etcd);` +
      'await stopApiServers();';
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      env: { ...process.env, [RUN_FOLDER]: run },
      timeout: 50_000,
    });
    return stdout.trim() || stderr;
  }

  it('is used by its processes, which cannot pause it and leave it running', async () => {
    const { kubeconfig, port, namespace } = await testApiServer({ own: true });
    assert.equal(asked({ repository: REPOSITORY, kubeconfig }), `port ${port} true undefined`);
    await namespace('after');
  });

  it('that does not start fails their tests with its reason', () =>
    assert.match(asked({ repository: REPOSITORY, error: 'no kube-apiserver' }), /Error: no kube-apiserver/));

  it('is not used by another checkout, whose custom resources differ', async () => {
    const { kubeconfig, port } = await testApiServer({ own: true });
    const said = asked({ repository: '/elsewhere/', kubeconfig });
    assert.match(said, /^port \d+ true http:/);
    assert.ok(!said.startsWith(`port ${port} `), said);
  });
});
