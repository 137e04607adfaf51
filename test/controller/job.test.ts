import assert from 'node:assert/strict';
import { Refusal, idOf, isHandMade, submittedAtOf, timeoutOf } from '../../src/service/controller/leader/job.ts';
import { resolveTools } from '../../src/service/controller/leader/resolve_job.ts';
import type { AvailableTool } from '../../src/service/controller/pools/pools.ts';
import { isOverdue } from '../../src/service/controller/leader/unshown_jobs.ts';
import type { ProbeJob, ProbeJobSpec } from '../../src/platform/kube/probe_job.ts';

const job = (spec: Partial<ProbeJobSpec> = {}): ProbeJob => ({
  apiVersion: 'probeyard.dev/v1alpha1',
  kind: 'ProbeJob',
  metadata: { name: 'n', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { kind: 'file', source: { url: 'http://a/b' }, ...spec },
});
const available: AvailableTool[] = [
  { tool: 'ffprobe', version: '9.0', latest: true, command: ['f9'] },
  { tool: 'ffprobe', version: '4.3', latest: false, command: ['f4'] },
  { tool: 'mediainfo', version: '26.10', latest: true, command: ['m'] },
];
const versions = (spec: Partial<ProbeJobSpec>) =>
  resolveTools(job(spec), available).map(({ name, version, timeoutMs }) => [name, version, timeoutMs]);

describe('resolving the tools of a ProbeJob', () => {
  it('a job without tools gets the latest of both', () =>
    assert.deepEqual(versions({}), [
      ['ffprobe', '9.0', 60_000],
      ['mediainfo', '26.10', 60_000],
    ]));
  it('accepts exact versions and latest', () =>
    assert.deepEqual(
      versions({
        tools: [
          { name: 'ffprobe', version: '4.3' },
          { name: 'mediainfo', version: 'latest' },
        ],
      }).map(([, version]) => version),
      ['4.3', '26.10'],
    ));
  for (const [wanted, exact] of [
    ['4', '4.10'],
    ['4.3', '4.3'],
    ['9', '9.0'],
    ['latest', '9.0'],
  ] as const)
    it(`${wanted} is ${exact}, whatever the order of the tools`, () => {
      const more: AvailableTool[] = [
        { tool: 'ffprobe', version: '10.1', latest: false, command: ['f10'] },
        ...available,
        { tool: 'ffprobe', version: '4.10', latest: false, command: ['f4'] },
      ];
      const asked = job({ tools: [{ name: 'ffprobe', version: wanted }] });
      assert.deepEqual(
        resolveTools(asked, more).map(({ version }) => version),
        [exact],
      );
    });
  it('a job of the API names an exact version, and gets no other one that begins with it', () =>
    assert.throws(
      () => versions({ token: { id: 1, user: 1 }, tools: [{ name: 'ffprobe', version: '9' }] }),
      /version "9" is not available/,
    ));
  describe('of which some are being tried', () => {
    const tried: AvailableTool = { tool: 'ffprobe', version: '10.1', latest: true, isTried: true, command: ['f10'] };
    const asked = (version: string, spec: Partial<ProbeJobSpec> = {}) =>
      job({ tools: [{ name: 'ffprobe', version }], ...spec });
    const versionOf = (wanted: ProbeJob, of: readonly AvailableTool[]) => resolveTools(wanted, of)[0]!.version;

    it('the exact version is waited for', () =>
      assert.equal(versionOf(asked('10.1', { token: { id: 1, user: 1 } }), [...available, tried]), '10.1'));
    it('no other job waits while another version is meant', () => {
      const of = [tried, { ...available[0]!, latest: false }, { ...available[0]!, version: '10.0', latest: false }];
      assert.deepEqual([versionOf(asked('latest'), of), versionOf(asked('10'), of)], ['10.0', '10.0']);
    });
    it('one made by hand waits if no other version is meant', () =>
      assert.deepEqual([versionOf(asked('latest'), [tried]), versionOf(asked('10'), [tried])], ['10.1', '10.1']));
    it('it is not said to be available', () =>
      assert.throws(() => resolveTools(asked('11'), [...available, tried]), /available: 9.0, 4.3; nearest: 9.0$/));
  });
  it('the newest version is the latest if none is marked', () =>
    assert.equal(
      resolveTools(
        job({ tools: [{ name: 'ffprobe', version: 'latest' }] }),
        available.map((tool) => ({ ...tool, latest: false })),
      )[0]!.version,
      '9.0',
    ));
  it('show_entries switches off what is on by default in a job made by hand, as the API does in its own', () => {
    const options = { show_entries: 'format=duration', show_streams: 'true' };
    const tools = [{ name: 'ffprobe' as const, version: 'latest', options }];
    const optionsOf = (spec: Partial<ProbeJobSpec>) => resolveTools(job({ tools, ...spec }), available)[0]!.options;
    assert.deepEqual(optionsOf({}), {
      show_format: 'false',
      show_programs: 'false',
      show_chapters: 'false',
      ...options,
    });
    assert.deepEqual(optionsOf({ token: { id: 1, user: 1 } }), options);
  });
  it('the timeout of a tool is at most that of the job', () =>
    assert.deepEqual(versions({ timeoutMs: 500, tools: [{ name: 'ffprobe', version: '4.3', timeoutMs: 900 }] }), [
      ['ffprobe', '4.3', 500],
    ]));
  for (const [version, message] of [
    ['4.4', /available: 9.0, 4.3; nearest: 4.3$/],
    ['', /9.0/],
  ] as const) {
    it(`never replaces ${version || 'an empty version'} by another version`, () => {
      assert.throws(
        () => resolveTools(job({ tools: [{ name: 'ffprobe', version }] }), available),
        (error: Refusal) => {
          assert.deepEqual([error.reason, error.status], ['ToolUnavailable', 400]);
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }
  const runs = (kind: ProbeJobSpec['kind'], ...asked: string[]) =>
    job({ kind, tools: asked.map((version) => ({ name: 'ffprobe' as const, version })) });
  it('a comparison runs every version that it names', () =>
    assert.deepEqual(
      resolveTools(runs('compare', '4.3', 'latest'), available).map(({ version }) => version),
      ['4.3', '9.0'],
    ));
  for (const [what, asked, message] of [
    [
      'two versions of one tool in a job that is not a comparison',
      runs('file', '4.3', '9.0'),
      /only the kind compare runs several/,
    ],
    ['the same version under two names', runs('compare', '9.0', 'latest'), /spec.tools: ffprobe 9.0 twice/],
    ['a comparison of one version', runs('compare', '9.0'), /needs at least two versions of one tool/],
    ['a comparison without tools', job({ kind: 'compare' }), /needs at least two versions of one tool/],
  ] as const)
    it(`refuses ${what}`, () =>
      assert.throws(
        () => resolveTools(asked, available),
        (error: Refusal) => error.reason === 'InvalidRequest' && message.test(error.message),
      ));

  for (const [what, asked, message] of [
    [
      'two sources in a job of another kind',
      runs('file', '9.0'),
      /^spec.other: only the kind compare has two sources$/,
    ],
    ['versions of two sources', runs('compare', '4.3', '9.0'), /two sources needs one version of each tool$/],
    ['two sources without tools', job({ kind: 'compare' }), /two sources needs one version of each tool$/],
  ] as const)
    it(`refuses ${what}`, () =>
      assert.throws(
        () => resolveTools(asked, available, { ofTwo: true }),
        (error: Refusal) => error.reason === 'InvalidRequest' && message.test(error.message),
      ));
  it('a comparison of two sources runs one version', () =>
    assert.deepEqual(
      resolveTools(runs('compare', 'latest'), available, { ofTwo: true }).map(({ version }) => version),
      ['9.0'],
    ));

  it('says so when the cluster has no version of the tool', () =>
    assert.throws(
      () => resolveTools(job({ kind: 'c2pa' }), available),
      /c2pa: version "latest" is not available; available: none/,
    ));

  it('a job is named by its name if the API created it, by its uid if kubectl did', () => {
    const byApi = job({ token: { id: 1, user: 1 }, submittedAt: '2026-01-01T00:00:00.123Z' });
    assert.deepEqual([isHandMade(byApi), idOf(byApi), submittedAtOf(byApi).getMilliseconds()], [false, 'n', 123]);
    assert.deepEqual([isHandMade(job()), idOf(job()), submittedAtOf(job()).getMilliseconds()], [true, 'u', 0]);
  });
  it('has a default timeout per kind', () =>
    assert.deepEqual(
      [timeoutOf(job()), timeoutOf(job({ kind: 'msv' })), timeoutOf(job({ timeoutMs: 7 }))],
      [65_000, 650_000, 7],
    ));
});

describe('sweep of open requests without a job', () => {
  const row = { id: 'r', submittedAt: new Date(0), queueTimeoutMs: 60_000 };
  it('takes only requests whose job can no longer be created', () =>
    assert.deepEqual([isOverdue(row, 69_999), isOverdue(row, 70_001)], [false, true]));
});
