/** The action for GitHub that docs/guides/ci.md shows: its steps, as a runner runs them, on a real installation. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parse } from 'yaml';
import { bundleCli } from '../../images/cli_bundle.ts';
import { blocksOf } from '../docs/blocks.ts';
import { oncePerRun } from '../once_per_run.ts';
import { execute, startInstallation, type Installation } from './rig.ts';

const root = join(import.meta.dirname, '../..');
const H264 = 'rules:\n  - { name: codec, each: video, field: codec.name, is: h264 }\n';
const HEVC = 'rules:\n  - { name: codec, each: video, field: codec.name, is: hevc }\n';

interface Action {
  inputs: Record<string, { default?: string; required?: boolean }>;
  outputs: Record<string, { value: string }>;
  runs: { steps: { shell: string; run: string; env: Record<string, string>; id?: string }[] };
}
const [shown, ...others] = blocksOf('guides/ci.md').filter(({ code }) => /using: composite/.test(code));
const action = parse(shown!.code) as Action;

describe('the action for GitHub', function () {
  this.timeout(240_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-action-'));
  const runner = join(folder, 'runner');
  const work = join(folder, 'work');
  let here: Installation;
  before(async function () {
    mkdirSync(runner);
    mkdirSync(join(work, 'dist'), { recursive: true });
    for (const name of ['a.mp4', "b 'x' $(touch hacked).mp4"])
      copyFileSync(join(root, 'test/fixtures/tiny.mp4'), join(work, 'dist', name));
    writeFileSync(join(work, 'h264.yaml'), H264);
    writeFileSync(join(work, 'hevc.yaml'), HEVC);
    here = await startInstallation(
      [
        { tool: 'ffprobe', version: '9.0', latest: true },
        { tool: 'mediainfo', version: '26.10', latest: true },
      ],
      this,
      { folders: { clientFolder: await oncePerRun('client', bundleCli) } },
    );
  });
  after(async () => {
    await here?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** What a runner puts in place of an expression. Another one is an error. */
  function valueOf(expression: string, inputs: Record<string, string>): string {
    return expression.replaceAll(/\$\{\{ *([\w.-]+) *\}\}/g, (_, name: string) => {
      const input = /^inputs\.([\w-]+)$/.exec(name)?.[1] ?? assert.fail(name);
      return inputs[input] ?? action.inputs[input]?.default ?? assert.fail(`the action has no input ${input}`);
    });
  }

  async function use(inputs: Record<string, string>) {
    const output = join(folder, 'output');
    writeFileSync(output, '');
    let last: Awaited<ReturnType<typeof execute>> | undefined;
    for (const { shell, run, env } of action.runs.steps) {
      assert.equal(shell, 'bash');
      const variables = Object.entries(env).map(([name, text]) => [name, valueOf(text, inputs)]);
      last = await execute(['bash', '-c', `cd '${work}' && eval "$STEP"`], {
        env: {
          PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env['PATH']}`,
          HOME: folder,
          GITHUB_OUTPUT: output,
          RUNNER_TEMP: runner,
          STEP: run,
          ...Object.fromEntries(variables),
        },
      });
      if (last.code !== 0) break;
    }
    return { ...last!, outputs: readFileSync(output, 'utf8') };
  }
  const inputs = (more: Record<string, string>) => ({
    url: here.url,
    token: here.token,
    ...more,
  });

  it('is one file', () => assert.deepEqual(others, []));

  it('passes files that a wildcard names, and writes a report', async () => {
    const done = await use(inputs({ sources: '  dist/*.mp4\n\n', policy: 'h264.yaml', junit: 'report.xml' }));
    assert.deepEqual([done.code, done.outputs], [0, 'outcome=passed\n'], done.stderr);
    assert.match(readFileSync(join(work, 'report.xml'), 'utf8'), /<testsuite name="dist\/a\.mp4"/);
  });

  it('fails with an annotation for each finding', async () => {
    const done = await use(inputs({ sources: 'dist/a.mp4', policy: 'hevc.yaml', sarif: 'report.sarif' }));
    assert.deepEqual([done.code, done.outputs], [1, 'outcome=failed\n'], done.stderr);
    assert.match(done.stdout.toString(), /^::error title=hevc\.yaml%3A codec::dist\/a\.mp4, streams\[0\]/m);
    const { results } = JSON.parse(readFileSync(join(work, 'report.sarif'), 'utf8')).runs[0];
    assert.equal(results[0].locations[0].physicalLocation.artifactLocation.uri, 'dist/a.mp4');
  });

  it('what could not be judged is no pass', async () => {
    const done = await use(inputs({ sources: 'dist/a.mp4', policy: 'h264.yaml', url: 'http://127.0.0.1:9' }));
    assert.deepEqual([done.code, done.outputs], [3, 'outcome=unknown\n'], done.stderr);
  });

  it('inputs are never read as code', async () => {
    for (const [more, message] of [
      [{ sources: 'dist/$(touch hacked).mp4', policy: 'h264.yaml' }, /there is no such file/],
      [{ sources: '`touch hacked`*', policy: 'h264.yaml' }, /no file matches/],
      [{ sources: 'dist/a.mp4', policy: '$(touch hacked)' }, /policy/],
      [{ sources: '--help', policy: 'h264.yaml' }, /there is no such file/],
      [{ sources: 'dist/a.mp4', command: 'versions; touch hacked' }, /command: is check or hls/],
      [{ sources: 'dist/a.mp4' }, /policy: is required/],
      [{ sources: ' \n ', policy: 'h264.yaml' }, /sources: is required/],
    ] as const) {
      const done = await use(inputs(more));
      assert.notEqual(done.code, 0, JSON.stringify(more));
      assert.match(done.stderr + done.stdout.toString(), message);
    }
    assert.throws(() => readFileSync(join(work, 'hacked')), /ENOENT/);
  });
});
