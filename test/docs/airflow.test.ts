/** The DAGs of docs/guides/airflow.md, run by Airflow against the API and the API server. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import { PROBE_BATCHES, PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { batchesOf, requestsOf } from '../api/batch/fixture.ts';
import { startApi, type ApiFixture } from '../api/fixture.ts';
import { fetched } from '../cli/fetched.ts';
import { testApiServer } from '../kube/apiserver.ts';
import { inFull } from '../long.ts';
import { startOrigin, type Origin } from '../source/origin.ts';
import { until } from '../until.ts';
import { blocksOf } from './blocks.ts';

const PACKAGES = ['apache-airflow==3.3.2', 'apache-airflow-providers-cncf-kubernetes==10.25.0'];
const RUN_MS = 280_000;
const [calls, dag, object] = blocksOf('guides/airflow.md').map(({ code }) => code);

describe('Airflow: the DAGs of the guide', function () {
  this.timeout(2 * RUN_MS);
  let api: ApiFixture | undefined;
  let origin: Origin | undefined;
  let folder: string | undefined;
  let environment: NodeJS.ProcessEnv;
  /** The items of the list at the origin. */
  let names: string[] = [];

  before(async function () {
    if (!inFull()) {
      console.log('      skipped: Airflow is 500 MB of packages; make test LONG=1 runs it');
      return this.skip();
    }
    const steps = [
      ['python3', '-m', 'venv', 'venv'],
      ['venv/bin/pip', 'install', '--quiet', ...PACKAGES],
    ];
    const airflow = fetched({ name: 'airflow-3.3.2', steps, proof: 'venv/bin/airflow' });
    if (airflow === null) return this.skip();
    origin = await startOrigin((_request, response) => {
      response.end(['url', ...names.map((name) => `${origin!.url}/${name}.mp4`), ''].join('\n'));
    });
    api = await startApi({ allowSources: [{ cidr: '127.0.0.1/32' }] });
    await api.stored.makeDefault(api.tokenId);
    folder = mkdtempSync(join(tmpdir(), 'probeyard-airflow-'));
    const { kubeconfig } = await testApiServer({ own: true });
    environment = {
      ...process.env,
      PATH: `${join(airflow, 'venv/bin')}${delimiter}${process.env['PATH']}`,
      AIRFLOW_HOME: folder,
      AIRFLOW__CORE__LOAD_EXAMPLES: 'False',
      AIRFLOW_CONN_KUBERNETES_DEFAULT: JSON.stringify({
        conn_type: 'kubernetes',
        extra: { kube_config_path: kubeconfig },
      }),
      PROBEYARD_URL: api.url,
      PROBEYARD_TOKEN: api.token,
    };
    write('probeyard_batch.py', calls!);
    write('probe_library.py', dag!);
    write('probe_library_object.py', object!);
    const { code, said } = await run('db', 'migrate');
    assert.equal(code, 0, said);
  });
  after(async () => {
    await api?.stop();
    await origin?.close();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  /** With the places of this test, and without waiting. */
  function write(file: string, code: string): void {
    mkdirSync(join(folder!, 'dags'), { recursive: true });
    const here = code
      .replace('https://media.example.com', origin!.url)
      .replace('"team-a"', `"${api!.namespace}"`)
      .replace('/tmp/', `${folder}/`)
      .replace('poke_interval=30', 'poke_interval=1')
      .replace('minutes=1', 'seconds=1');
    writeFileSync(join(folder!, 'dags', file), here);
  }

  /** Meanwhile jobs end as runners end them: those of `bad` files fail. */
  async function run(...args: string[]): Promise<{ code: number; said: string }> {
    const { success, failure } = batchesOf(api!);
    const child = spawn('airflow', args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    let code: number | undefined;
    for (const output of [child.stdout, child.stderr])
      output.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-20_000)));
    child.once('close', (status) => (code = status ?? -1));
    const ended = new Set<string>();
    await until(
      `airflow ${args.join(' ')} has ended`,
      async () => {
        const { items } = await api!.kube.listAll(PROBE_JOBS, { namespace: api!.namespace });
        for (const job of items)
          for (const id of requestsOf(job).filter((one) => !ended.has(one))) {
            ended.add(id);
            const isBad = job.spec.source.display?.includes('/bad') === true;
            await (isBad ? failure(id, { status: 404, reason: 'OriginUnreachable', error: 'gone' }) : success(id));
          }
        return code !== undefined;
      },
      RUN_MS,
    ).finally(() => child.kill('SIGKILL'));
    return { code: code!, said };
  }

  const saved = async () => {
    const files = readdirSync(folder!).filter((name) => name.endsWith('.parquet'));
    return Promise.all(
      files.map((name) => parquetReadObjects({ file: Uint8Array.from(readFileSync(join(folder!, name))).buffer })),
    );
  };

  it('calls of the API: the DAG waits for its batch, saves its items, and succeeds', async () => {
    names = ['film', 'trailer'];
    const { code, said } = await run('dags', 'test', 'probe_library');
    assert.equal(code, 0, said);
    const files = await saved();
    assert.deepEqual(
      files.map((rows) => rows.map((row) => [row['url'], row['state']])),
      [names.map((name) => [`${origin!.url}/${name}.mp4`, 'success'])],
    );
  });

  it('more items fail than may: the DAG fails, and says how many', async () => {
    names = ['film', 'bad'];
    const { code, said } = await run('dags', 'test', 'probe_library');
    assert.notEqual(code, 0, said);
    assert.match(said, /Completed: 1 of 2 items failed/);
    assert.equal((await saved()).length, 2);
  });

  it('an object of Kubernetes: the DAG waits for it, and judges its failed items', async () => {
    names = ['film', 'trailer'];
    const { code, said } = await run('dags', 'test', 'probe_library_object');
    assert.equal(code, 0, said);
    const { items } = await api!.kube.list(PROBE_BATCHES, { namespace: api!.namespace });
    assert.deepEqual(
      items.map(({ status }) => [status?.state, status?.total, status?.failed]),
      [['Completed', 2, 0]],
    );
    names = ['film', 'bad'];
    const second = await run('dags', 'test', 'probe_library_object');
    assert.notEqual(second.code, 0, second.said);
    assert.match(second.said, /1 of 2 items failed/);
  });
});
