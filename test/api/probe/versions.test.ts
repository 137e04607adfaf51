import assert from 'node:assert/strict';
import { catalogOf } from '../../../src/service/api/probe/tool_versions.ts';
import { makeReader } from '../../../src/service/api/http/input/read_fields.ts';
import { ProbeFileSchema, type ProbeFile, selectTools } from '../../../src/service/api/probe/file_request.ts';
import { availableTools } from '../../../src/service/api/probe/offer_endpoints.ts';
import { FFPROBE_OPTIONS } from '../../../src/media/tools/ffprobe_options.ts';
import { HLS_VERSION } from '../../../src/media/hls/built_in.ts';
import { aTool } from '../a_tool.ts';
import { startApi, type ApiFixture } from '../fixture.ts';

const catalog = catalogOf([
  aTool('ffprobe', '9.0', { latest: true, options: [['of', 'show_frames', 'max_probe_packets']] }),
  aTool('ffprobe', '4.0', { options: [['of', 'show_frames']] }),
  aTool('ffprobe', '3.0', { warning: 'affected by CVE-2000-1' }),
  aTool('mediainfo', '26.10', { options: [['Output=JSON', 'Output=XML', 'Details=1', '!Language']] }),
  aTool('mediainfo', '20.09'),
]);
const { tools } = availableTools(catalog);
const named = (name: string) => tools.find(({ tool }) => tool === name)!;
const versionOf = (tool: string, version: string) => named(tool).versions.find((one) => one.version === version)!;

describe('available versions', () => {
  it('are those of the catalog, newest first, with the latest marked', () =>
    assert.deepEqual(
      tools.map(({ tool, latest, selectable, default: byDefault, versions }) => [
        tool,
        latest,
        selectable,
        byDefault,
        versions.map((one) => one.version + (one.latest ? ' latest' : '')),
      ]),
      [
        ['ffprobe', '9.0', true, true, ['9.0 latest', '4.0', '3.0']],
        ['mediainfo', '26.10', true, true, ['26.10 latest', '20.09']],
        ['mediastreamvalidator', HLS_VERSION, false, false, [`${HLS_VERSION} latest`]],
        ['c2pa', null, false, false, []],
        ['qc', null, true, false, []],
      ],
    ));

  it('have the options that the version reported', () => {
    assert.deepEqual(versionOf('ffprobe', '4.0').options, ['output_format', 'show_frames', 'tls_verify']);
    assert.deepEqual(versionOf('ffprobe', '9.0').options, [
      'output_format',
      'show_frames',
      'tls_verify',
      'max_probe_packets',
    ]);
  });

  it('have the documented options if the version reported none', () =>
    assert.deepEqual(
      versionOf('ffprobe', '3.0').options,
      FFPROBE_OPTIONS.filter(({ extra }) => extra !== true).map(({ name }) => name),
    ));

  it('warn of a version whose ProbeTool has a warning', () =>
    assert.deepEqual(
      named('ffprobe').versions.map(({ warning }) => warning),
      [undefined, undefined, 'affected by CVE-2000-1'],
    ));

  it('have the line that the tool printed of its version', () => {
    const line = 'ffprobe version 9.0 Copyright (c) 2007-2026 the FFmpeg developers';
    const [found] = availableTools(catalogOf([aTool('ffprobe', '9.0', { reported: line })])).tools;
    assert.equal(found!.versions[0]!.reported, line);
  });

  it('omit what a version lacks, and list the allowed values', () => {
    const { options, values } = versionOf('mediainfo', '26.10');
    assert.deepEqual([options.includes('language'), options.includes('details')], [false, true]);
    assert.deepEqual(values, { output: ['XML', 'JSON'] });
    assert.deepEqual(versionOf('mediainfo', '20.09').values, undefined);
  });

  it('accept in a request exactly the options that they list', () => {
    const read = makeReader<ProbeFile>(ProbeFileSchema);
    const accepts = (tool: string, version: string, option: string, value: unknown): boolean => {
      const fields = { url: 'u', only: tool, [tool]: { version, [option]: value } };
      try {
        selectTools(read({ form: 'json', value: fields }), catalog);
        return true;
      } catch (error) {
        assert.match(String(error), /does not have/);
        return false;
      }
    };
    for (const { tool, selectable, options, versions } of tools.filter((one) => one.selectable)) {
      assert.equal(selectable, true);
      for (const { version, options: accepted } of versions)
        for (const { name, type, default: byDefault } of options) {
          if (type !== 'boolean') continue;
          assert.equal(accepts(tool, version, name, !byDefault), accepted.includes(name), `${tool} ${version} ${name}`);
        }
    }
  });

  it('describe each option once: kind, default, help and bounds', () => {
    const all = tools.flatMap(({ options }) => options);
    assert.ok(all.every(({ help, type }) => help.length > 0 && type.length > 0));
    assert.deepEqual(
      named('mediainfo').options.find(({ name }) => name === 'parse_speed'),
      {
        name: 'parse_speed',
        type: 'number',
        default: 0.5,
        help: 'How much is read: from 0 (as little as possible) to 1 (everything).',
        minimum: 0,
        maximum: 1,
      },
    );
    assert.deepEqual(named('ffprobe').options[0]?.values?.slice(0, 2), ['default', 'compact']);
    const patterns = all.flatMap(({ pattern = [] }) => pattern);
    assert.doesNotThrow(() => patterns.map((pattern) => new RegExp(pattern, 'u')));
  });
});

describe('GET /v1/versions', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  it('lists what the cluster can run now, and may be cached for seconds', async () => {
    const response = await fetch(`${api.url}/v1/versions`, { headers: { Authorization: `Bearer ${api.token}` } });
    const { tools: found } = (await response.json()) as ReturnType<typeof availableTools>;
    assert.deepEqual(
      [response.status, response.headers.get('cache-control'), found.map(({ tool, latest }) => [tool, latest])],
      [
        200,
        'private, max-age=5',
        [
          ['ffprobe', '7.0'],
          ['mediainfo', '24.06'],
          ['mediastreamvalidator', HLS_VERSION],
          ['c2pa', null],
          ['qc', null],
        ],
      ],
    );
  });

  it('requires a token', async () => {
    const response = await fetch(`${api.url}/v1/versions`);
    assert.equal(response.status, 401);
  });
});
