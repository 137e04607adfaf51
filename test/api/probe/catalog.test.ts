import assert from 'node:assert/strict';
import { catalogOf } from '../../../src/service/api/probe/tool_versions.ts';
import { byNewest } from '../../../src/base/version_order.ts';
import { aTool } from '../a_tool.ts';

describe('catalog', () => {
  const catalog = catalogOf([
    aTool('ffprobe', '3.3'),
    aTool('ffprobe', '7.0', { latest: true, options: [['show_frames', '-max_probe_packets'], ['show_frames']] }),
    aTool('ffprobe', '5.1', { available: false }),
    aTool('ffprobe', '10.0'),
    aTool('mediainfo', '20.09'),
    aTool('mediainfo', '24.06', { latest: true, available: false }),
    aTool('mediainfo', '23.11'),
  ]);

  it('lists available versions, newest first', () =>
    assert.deepEqual(catalog.versions('ffprobe'), ['10.0', '7.0', '3.3']));
  it('returns the exact version that was named', () => assert.equal(catalog.resolve('ffprobe', '3.3').version, '3.3'));
  it('returns for latest the version that the operator marked', () =>
    assert.equal(catalog.resolve('ffprobe', 'latest').version, '7.0'));
  it('returns for latest the newest version if the marked one is not ready', () =>
    assert.equal(catalog.resolve('mediainfo', 'latest').version, '23.11'));
  it('has the options that every architecture has', () =>
    assert.deepEqual([...catalog.resolve('ffprobe', '7.0').options!], ['show_frames']));
  it('has no options if none were reported', () => assert.equal(catalog.resolve('ffprobe', '3.3').options, null));

  for (const [version, near] of [
    ['5.1', '; nearest: 7.0'],
    ['9', '; nearest: 10.0'],
    ['3.4', '; nearest: 3.3'],
    ['1', '; nearest: 3.3'],
    ['1.0.0.0', '; nearest: 3.3'],
    ['3.', ''],
    ['v7', ''],
    ['', ''],
    ['__proto__', ''],
    ['Latest', ''],
  ] as const) {
    it(`refuses version "${version}" with the available ones${near}, never another in its place`, () =>
      assert.throws(() => catalog.resolve('ffprobe', version), {
        status: 400,
        message: `ffprobe.version: "${version}" is not available; available: latest, 10.0, 7.0, 3.3${near}`,
      }));
  }

  it('a version whose image is being tried may be there in a moment, and another is not taken in its place', () => {
    const being = {
      status: 503,
      headers: { 'Retry-After': '5' },
      message: /^ffprobe\.version: the image of "6\.1" is being tried/,
    };
    const one = aTool('ffprobe', '6.1', { available: null });
    assert.throws(() => catalogOf([one]).resolve('ffprobe', '6.1'), being);
    const tried = catalogOf([one, aTool('ffprobe', '6.1.2')]);
    assert.throws(() => tried.resolve('ffprobe', '6.1'), being);
    assert.deepEqual([tried.versions('ffprobe'), tried.resolve('ffprobe', '6').version], [['6.1.2'], '6.1.2']);
    assert.throws(() => catalogOf([aTool('ffprobe', '6.1', { available: false })]).resolve('ffprobe', '6.1'), {
      status: 400,
    });
  });

  const some = catalogOf(
    ['6.0', '6.1', '6.1.2', '60.0', '10.0']
      .map((version) => aTool('ffprobe', version))
      .concat(['26.10', '26.1', '20.09'].map((version) => aTool('mediainfo', version))),
  );
  for (const [tool, version, found] of [
    ['ffprobe', '6', '6.1.2'],
    ['ffprobe', '6.1', '6.1'],
    ['ffprobe', '60', '60.0'],
    ['ffprobe', '10', '10.0'],
    ['mediainfo', '26', '26.10'],
    ['mediainfo', '20', '20.09'],
  ] as const)
    it(`${tool} ${version} is ${found}`, () => assert.equal(some.resolve(tool, version).version, found));
  it('if empty, refuses a named version, and reports its own fault otherwise', () => {
    assert.throws(() => catalogOf([]).resolve('ffprobe', '7.0'), {
      status: 400,
      message: 'ffprobe.version: "7.0" is not available; no version of ffprobe is ready in this cluster',
    });
    assert.throws(() => catalogOf([]).resolve('ffprobe', 'latest'), { status: 500, code: 'tool-unavailable' });
  });

  it('sorts versions numerically', () =>
    assert.deepEqual(['3.3', '24.06', '4.4', '10', '4.4.1', '4.10'].sort(byNewest), [
      '24.06',
      '10',
      '4.10',
      '4.4.1',
      '4.4',
      '3.3',
    ]));
});
