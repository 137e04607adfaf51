import assert from 'node:assert/strict';
import { openMatrix, secrets, type Matrix, type Row } from './matrix.ts';
import { seen, wrongWith } from './judge.ts';
import { missingPeer } from './peers.ts';
import { builtTools, startRealRunner, type Answered, type RealRunner, type ToolEntry } from './real_runner.ts';

/**
 * Every kind of source from a real server, through a real runner with the newest tool images. For all versions see
 * docs/sources.md.
 */

const atOnce = 4;
const isNewest = ({ tool, latest }: ToolEntry): boolean => latest === true && tool !== 'qc';
const missing =
  (await missingPeer('ffmpeg')) ??
  ((await builtTools(isNewest)).length === 2 ? undefined : 'the newest tool images are not built here (make images)');

describe('sources of every kind, from real servers', function () {
  this.timeout(180_000);
  let matrix: Matrix;
  let runner: RealRunner;
  const answers = new Map<Row, { url: string; answered: Answered } | Error>();

  before(async function () {
    if (missing !== undefined) {
      console.log(`      skipped: ${missing}`);
      this.skip();
    }
    matrix = await openMatrix();
    runner = await startRealRunner(
      isNewest,
      {
        allow: matrix.allow,
        ca: matrix.ca,
        recording: { ms: 2500, bytes: 20_000_000 },
        ...(matrix.s3 ? { s3: matrix.s3 } : {}),
      },
      { s3Hosts: matrix.s3Hosts },
    );
    const todo = matrix.rows.filter((row) => row.missing === undefined);
    // Streams mostly wait, so several at once take little more time than one.
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (let row = todo.shift(); row !== undefined; row = todo.shift()) {
          try {
            const { url, end } = await row.address();
            // Half of FFmpeg's default time for a stream is enough for these.
            const answered = await runner
              .run(url, { options: { ffprobe: { analyzeduration: '2000000' } } })
              .finally(() => end?.());
            answers.set(row, { url, answered });
          } catch (error) {
            answers.set(row, error as Error);
          }
        }
      }),
    );
  });
  after(async () => {
    await runner?.close();
    await matrix?.close();
  });

  it('are read by each tool, and shown as the caller wrote them', function () {
    const skipped = matrix.rows.filter((row) => row.missing !== undefined);
    for (const row of skipped) console.log(`      skipped: ${row.source}: ${row.missing}`);
    const wrong = matrix.rows
      .filter((row) => row.missing === undefined)
      .flatMap((row) => {
        const found = answers.get(row);
        if (found === undefined || found instanceof Error) return [`${row.source}: ${found?.stack}`];
        return found.answered.tools.flatMap((outcome) => {
          const problem = wrongWith(row, found.url, outcome);
          return problem === undefined || (outcome.tool === 'mediainfo' && ownLimit(row, problem))
            ? []
            : [`${row.source}, ${outcome.tool}: ${problem}`];
        });
      });
    assert.deepEqual(wrong, []);
    assert.ok(answers.size >= 18, `${answers.size} sources tried`);
  });

  it('have their bytes counted', () => {
    for (const [row, found] of answers)
      if (!(found instanceof Error)) assert.ok(found.answered.io > 1000, `${row.source}: ${found.answered.io} bytes`);
  });

  it('leave no credential in an output, an error or a log', () => {
    for (const [row, found] of answers)
      if (!(found instanceof Error)) assert.deepEqual(seen(found.answered, secrets), [], row.source);
  });
});

/** Problems of mediainfo itself, regardless of the server. */
const ownLimit = (row: Row, problem: string): boolean =>
  /^HLS, (?:AES|fragmented)/.test(row.source) ||
  (row.source.startsWith('rtsp') && problem === 'mediainfo cannot read RTSP');
