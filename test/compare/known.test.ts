import assert from 'node:assert/strict';
import { compareRuns } from '../../src/media/compare/compare.ts';
import { KNOWN_CHANGES } from '../../src/media/compare/known_changes.ts';
import type { ReportTool } from '../../src/media/tools/probe_report.ts';

const fields = (tool: ReportTool, ...runs: [version: string, output: object][]) =>
  compareRuns(
    runs.map(([version, output]) => {
      const text = JSON.stringify(output);
      return { tool, version, label: version, output: { bytes: text.length, text: () => text } };
    }),
  ).fields;
const told = (...runs: [string, object][]) =>
  fields('ffprobe', ...runs).map(({ path, change, to, known }) => [path, change, to, known?.release]);
const stream = (more: object) => ({ streams: [{ index: 0, ...more }] });
const frame = (more: object) => ({ frames: [more] });

const TABLE: [string, [string, object][], unknown[]][] = [
  [
    'gone with a release',
    [
      ['4.3', stream({ codec_time_base: 'x' })],
      ['4.4', stream({})],
    ],
    [['streams[0].codec_time_base', 'removed', undefined, '4.4']],
  ],
  [
    'gone some releases later',
    [
      ['4.0', stream({ codec_time_base: 'x' })],
      ['9.0', stream({})],
    ],
    [['streams[0].codec_time_base', 'removed', undefined, '4.4']],
  ],
  [
    'back in time',
    [
      ['9.0', stream({})],
      ['4.0', stream({ codec_time_base: 'x' })],
    ],
    [['streams[0].codec_time_base', 'added', undefined, '4.4']],
  ],
  [
    'gone without the release',
    [
      ['4.4', stream({ codec_time_base: 'x' })],
      ['9.0', stream({})],
    ],
    [['streams[0].codec_time_base', 'removed', undefined, undefined]],
  ],
  [
    'another value of a known field',
    [
      ['4.3', stream({ codec_time_base: 'x' })],
      ['4.4', stream({ codec_time_base: 'y' })],
    ],
    [['streams[0].codec_time_base', 'value', undefined, undefined]],
  ],
  [
    'new with one release and gone with another',
    [
      ['4.2', stream({})],
      ['4.3', stream({ closed_captions: 0 })],
      ['9.0', stream({})],
    ],
    [['streams[0].closed_captions', 'removed', undefined, '4.3']],
  ],
  [
    'within a program',
    [
      ['4.3', { programs: [{ program_id: 1, ...stream({ codec_time_base: 'x' }) }] }],
      ['4.4', { programs: [{ program_id: 1, ...stream({}) }] }],
    ],
    [['programs[@program_id=1].streams[0].codec_time_base', 'removed', undefined, '4.4']],
  ],
  [
    'renamed',
    [
      ['4.4', frame({ pkt_pts: 7 })],
      ['7.1', frame({ pts: 7 })],
    ],
    [['frames[0].pkt_pts', 'renamed', 'frames[0].pts', '5.0']],
  ],
  [
    'renamed, and the same from then on',
    [
      ['4.4', frame({ pkt_pts: 7 })],
      ['7.1', frame({ pts: 7 })],
      ['9.0', frame({ pts: 7 })],
    ],
    [['frames[0].pkt_pts', 'renamed', 'frames[0].pts', '5.0']],
  ],
  [
    'renamed, with another value',
    [
      ['4.4', frame({ pkt_pts: 7 })],
      ['7.1', frame({ pts: 8 })],
    ],
    [['frames[0].pkt_pts', 'value', 'frames[0].pts', undefined]],
  ],
  [
    'renamed back',
    [
      ['7.1', frame({ duration: 7 })],
      ['4.4', frame({ pkt_duration: 7 })],
    ],
    [['frames[0].pkt_duration', 'renamed', 'frames[0].duration', '7.1']],
  ],
];

describe('known changes', () => {
  for (const [what, runs, expected] of TABLE) it(what, () => assert.deepEqual(told(...runs), expected));

  it('of another tool explain nothing', () =>
    assert.deepEqual(
      fields('mediainfo', ['4.3', stream({ codec_time_base: 'x' })], ['4.4', stream({})]).map(({ known }) => known),
      [undefined],
    ));

  it('name each path once for a release and kind of change', () => {
    const keys = KNOWN_CHANGES.flatMap(({ tool, release, change, paths }) =>
      paths.map((path) => [tool, release, change, path].join(' ')),
    );
    assert.deepEqual(
      keys.filter((key, at) => keys.indexOf(key) !== at),
      [],
    );
  });
});
