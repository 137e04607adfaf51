/** Parquet, as two readers have it that are not ours: one of npm, and DuckDB. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { type Columns, makeParquet } from '../../../src/service/api/http/parquet.ts';
import { fetched, npmInstall } from '../../cli/fetched.ts';
import { inFull } from '../../long.ts';

interface Row {
  n: number;
  name: string | null;
  bytes: number;
  at: string | null;
}
const COLUMNS: Columns<Row> = { n: 'INT32', name: 'STRING', bytes: 'INT64', at: 'TIMESTAMP' };
const AWKWARD = ['', 'ünï ☃ 🎬', "it's; --", 'a\0b', null];

const rowsFrom = (first: number, count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({
    n: first + index,
    name: AWKWARD[(first + index) % AWKWARD.length]!,
    bytes: 2 ** 40 + first + index,
    at: index % 2 === 0 ? new Date(Date.UTC(2026, 0, 1) + index).toISOString() : null,
  }));

async function fileOf(...groups: Row[][]): Promise<Uint8Array> {
  const { write, end } = await makeParquet(COLUMNS);
  return new Uint8Array(Buffer.concat([...groups.map((rows) => write(rows)), end()]));
}
const read = async (file: Uint8Array): Promise<Row[]> =>
  (await parquetReadObjects({ file: file.slice().buffer })).map(({ n, name, bytes, at }) => ({
    n: n as number,
    name: name as string | null,
    bytes: Number(bytes),
    at: (at as Date | null)?.toISOString() ?? null,
  }));

describe('Parquet', function () {
  this.timeout(600_000);

  for (const [what, groups] of [
    ['no rows', []],
    ['an empty page', [[]]],
    ['one group', [rowsFrom(0, 7)]],
    ['several groups, the last of them smaller', [rowsFrom(0, 2_000), rowsFrom(2_000, 2_000), rowsFrom(4_000, 3)]],
  ] as const)
    it(`${what}: reads back as it was`, async () => {
      const file = await fileOf(...groups.map((rows) => [...rows]));
      assert.deepEqual(await read(file), groups.flat());
      const { row_groups: written } = parquetMetadata(file.slice().buffer);
      assert.equal(written.length, groups.filter(({ length }) => length > 0).length);
    });

  it('is read by DuckDB', async function () {
    if (!inFull()) {
      console.log('    skipped: DuckDB is 60 MB; make test LONG=1 runs it');
      return this.skip();
    }
    const proof = 'node_modules/@duckdb/node-api/package.json';
    const duckdb = fetched({ name: 'duckdb-1.5.6', steps: [npmInstall('@duckdb/node-api@1.5.6-r.1')], proof });
    if (duckdb === null) return this.skip();
    const folder = mkdtempSync(join(tmpdir(), 'parquet-'));
    try {
      const file = join(folder, 'rows.parquet');
      writeFileSync(file, await fileOf(rowsFrom(0, 2_000), rowsFrom(2_000, 500)));
      const query = `select count(*) as rows, sum(n) as total, max(bytes) as most, count(distinct name) as names,
        count("at") as times, min("at")::varchar as first, max(case when n = 1 then name end) as one from '${file}'`;
      const program = `const { DuckDBInstance } = require('@duckdb/node-api');
        (async () => {
          const connection = await (await DuckDBInstance.create(':memory:')).connect();
          const reader = await connection.runAndReadAll(${JSON.stringify(query)});
          console.log(JSON.stringify(reader.getRowObjectsJson()));
        })();`;
      const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { cwd: duckdb, encoding: 'utf8' });
      assert.equal(stderr, '');
      assert.deepEqual(JSON.parse(stdout), [
        {
          rows: '2500',
          total: String((2_499 * 2_500) / 2),
          most: String(2 ** 40 + 2_499),
          names: '4',
          times: '1250',
          first: '2026-01-01 00:00:00',
          one: 'ünï ☃ 🎬',
        },
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
