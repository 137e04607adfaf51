import assert from 'node:assert/strict';
import { catalogOf } from '../../../src/service/api/probe/tool_versions.ts';
import { makeReader } from '../../../src/service/api/http/input/read_fields.ts';
import { ProbeFileSchema, type ProbeFile, selectTools } from '../../../src/service/api/probe/file_request.ts';
import { aTool } from '../a_tool.ts';

const read = makeReader<ProbeFile>(ProbeFileSchema);
const known = ['of', 'show_frames', 'show_streams', 'probesize'];
const catalog = catalogOf([
  aTool('ffprobe', '7.0', { latest: true, options: [[...known, 'max_probe_packets', 'show_stream_groups']] }),
  aTool('ffprobe', '3.3', { options: [known] }),
  aTool('ffprobe', '4.0'),
  aTool('mediainfo', '24.06', { latest: true }),
  aTool('qc', '7.1', { latest: true }),
  aTool('mediainfo', '21.09', {
    options: [
      ['Full', 'Output=JSON', 'Output=EBUCore_1.6', '!Language', '!ParseSpeed'],
      ['Output=JSON', 'Output=EBUCore_1.6', '!Full'],
    ],
  }),
]);
const select = (fields: object) =>
  selectTools(read({ form: 'json', value: JSON.parse(JSON.stringify({ url: 'u', ...fields })) }), catalog);
const off = { enabled: false };

describe('tools of a request', () => {
  for (const [what, fields, run, shown, report] of [
    ['both and the report by default', {}, ['ffprobe', 'mediainfo'], ['ffprobe', 'mediainfo', 'probe_report'], true],
    ['the enabled one', { mediainfo: off, probe_report: off }, ['ffprobe'], ['ffprobe'], false],
    ['one, and a report from it', { mediainfo: off }, ['ffprobe'], ['ffprobe', 'probe_report'], true],
    ['both for a report alone', { ffprobe: off, mediainfo: off }, ['ffprobe', 'mediainfo'], ['probe_report'], true],
    ['only one', { only: 'mediainfo' }, ['mediainfo'], ['mediainfo'], false],
    ['only one, disabled or not', { only: 'ffprobe', ffprobe: off }, ['ffprobe'], ['ffprobe'], false],
    ['content checks, and ffprobe for its streams', { only: 'qc' }, ['ffprobe', 'qc'], ['qc'], false],
    ['only the report', { only: 'probe_report' }, ['ffprobe', 'mediainfo'], ['probe_report'], true],
    [
      'only the report, from the one that is enabled',
      { only: 'probe_report', mediainfo: off },
      ['ffprobe'],
      ['probe_report'],
      true,
    ],
  ] as const) {
    it(`are ${what}`, () => {
      const selection = select(fields);
      assert.deepEqual(
        [selection.tools.map(({ name }) => name), selection.shown, selection.report.enabled],
        [run, shown, report],
      );
    });
  }

  it('have exact versions, a timeout within that of the request, and non-default options as texts', () => {
    assert.deepEqual(
      select({
        only: 'ffprobe',
        timeout: 10_000,
        ffprobe: { show_streams: false, show_frames: true, probesize: 32, timeout: 5_000 },
      }).tools,
      [
        {
          name: 'ffprobe',
          version: '7.0',
          timeoutMs: 5_000,
          options: { show_streams: 'false', show_frames: 'true', probesize: '32' },
        },
      ],
    );
    assert.deepEqual(
      select({ only: 'mediainfo', timeout: 10_000, mediainfo: { parse_speed: 1e-7, language: 'de' } }).tools,
      [
        {
          name: 'mediainfo',
          version: '24.06',
          timeoutMs: 10_000,
          options: { language: 'de', parse_speed: '0.0000001' },
        },
      ],
    );
  });

  it('have the report settings of the request', () => {
    assert.deepEqual(select({ probe_report: { diff: false, prefer: 'mediainfo' } }).report, {
      enabled: true,
      diff: false,
      prefer: 'mediainfo',
    });
    assert.equal(select({ probe_report: { frames: 'never' } }).report.frames, 'never');
  });

  for (const [fields, message] of [
    [{ ffprobe: off, mediainfo: off, probe_report: off }, 'all tools are disabled'],
    [
      { ffprobe: { version: '3.3', max_probe_packets: 10 } },
      'ffprobe.max_probe_packets: ffprobe 3.3 does not have this option',
    ],
    [
      { ffprobe: { version: '3.3', show_stream_groups: true } },
      'ffprobe.show_stream_groups: ffprobe 3.3 does not have this option',
    ],
    [
      { ffprobe: { version: '4.0', show_stream_groups: true } },
      'ffprobe.show_stream_groups: ffprobe 4.0 does not have this option',
    ],
    [
      { mediainfo: { version: '18.12' } },
      'mediainfo.version: "18.12" is not available; available: latest, 24.06, 21.09; nearest: 21.09',
    ],
    [
      { mediainfo: { version: '21.09', output: 'MPEG-7_Strict' } },
      'mediainfo.output: mediainfo 21.09 does not have MPEG-7_Strict',
    ],
    [
      { mediainfo: { version: '21.09', language: 'de' } },
      'mediainfo.language: mediainfo 21.09 does not have this option',
    ],
    [
      { mediainfo: { version: '21.09', parse_speed: 1 } },
      'mediainfo.parse_speed: mediainfo 21.09 does not have this option',
    ],
    [{ mediainfo: { version: '21.09', full: true } }, 'mediainfo.full: mediainfo 21.09 does not have this option'],
    [{ c2pa: { enabled: true } }, 'c2pa: is not available in this cluster'],
    [{ only: 'c2pa' }, 'c2pa: is not available in this cluster'],
  ] as const) {
    it(`are refused: ${message}`, () => assert.throws(() => select(fields), { status: 400, message }));
  }
  it('may have an output that the version reported, and any output of a version that reported none', () => {
    assert.deepEqual(
      select({ only: 'mediainfo', mediainfo: { version: '21.09', output: 'EBUCore_1.6', language: 'raw' } }).tools[0]
        ?.options,
      { output: 'EBUCore_1.6' },
    );
    assert.deepEqual(select({ only: 'mediainfo', mediainfo: { output: 'MPEG-7_Strict' } }).tools[0]?.options, {
      output: 'MPEG-7_Strict',
    });
  });
  it('may have a documented option of a version that reported no options', () => {
    assert.equal(
      select({ ffprobe: { version: '4.0', max_probe_packets: 10 } }).tools[0]?.options?.['max_probe_packets'],
      '10',
    );
  });
  it('may have an option that the version lacks if it is left at its default', () =>
    assert.equal(select({ ffprobe: { version: '3.3', max_probe_packets: 0 } }).tools[0]?.version, '3.3'));
});
