/** Every output format of both tools, through the runner, from the tools' own binaries. */
import assert from 'node:assert/strict';
import { MEDIAINFO_OUTPUTS } from '../../src/media/tools/mediainfo.ts';
import { optionTable } from '../../docs/tables/options.ts';
import { startRealTools, type RealTools } from './real_tools.ts';

const FFPROBE = ['default', 'compact', 'csv', 'csv=p=0', 'flat', 'ini', 'json', 'json=c=1', 'xml'] as const;

/** The beginning of the output in each format. */
const BEGINS: Record<string, RegExp> = {
  default: /^\[STREAM\]\n/,
  compact: /^stream\|index=0\|codec_name=h264\|/,
  csv: /^stream,0,h264,/,
  'csv=p=0': /^0,h264,/,
  flat: /^streams\.stream\.0\.index=0\n/,
  ini: /^(?:# ffprobe output\n+)?\[streams\.stream\.0\]\n/,
  xml: /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<ffprobe>/,
  Text: /^General\n/,
  HTML: /^<(?:!DOCTYPE html|html)>/,
  XML: /^<\?xml [^>]*>\n<MediaInfo\s/,
  'EBUCore_1.8_ps': /<ebucore:ebuCoreMain /,
  'EBUCore_1.8_sp': /<ebucore:ebuCoreMain /,
  'EBUCore_1.6': /<ebucore:ebuCoreMain /,
  'FIMS_1.3': /<bms:/,
  'MPEG-7_Strict': /<mpeg7:Mpeg7 /,
  'MPEG-7_Relaxed': /<mpeg7:Mpeg7 /,
  'MPEG-7_Extended': /<mpeg7:Mpeg7 /,
  'PBCore_2.1': /<pbcoreInstantiationDocument /,
  'PBCore_2.0': /<pbcoreInstantiationDocument /,
  'PBCore_1.2': /<PBCoreDescriptionDocument|<pbcoreInstantiation/i,
  'NISO_Z39.87': /<mix:mix /,
};
const JSON_MEMBER: Record<string, string> = {
  json: 'streams',
  'json=c=1': 'streams',
  JSON: 'media',
  'EBUCore_1.8_ps_JSON': 'ebucore:ebuCoreMain',
  'EBUCore_1.8_sp_JSON': 'ebucore:ebuCoreMain',
};

const OLD = MEDIAINFO_OUTPUTS.filter((output) => !output.startsWith('MPEG-7'));
/** The formats that the builds of the catalog support. */
const WRITES: Record<string, readonly string[]> = {
  '26.10': MEDIAINFO_OUTPUTS,
  '24.06': ['Text', 'HTML', 'XML', 'JSON'],
  '21.09': OLD,
  '20.09': OLD,
  '19.09': OLD,
};
const LACKS: Record<string, string[]> = {
  '24.06': ['!Language', '!ParseSpeed', '!ReadByHuman'],
  '21.09': ['!Full', '!Language', '!ParseSpeed', '!ReadByHuman'],
};

/** The extra options that each build supports. */
const EXTRAS: Record<string, string[]> = {
  '26.10': ['Details=1', 'Inform=template', 'Cover_Data=base64'],
  '24.06': ['Cover_Data=base64'],
  '21.09': ['Inform=template', 'Cover_Data=base64'],
  '20.09': ['Details=1', 'Inform=template', 'Cover_Data=base64'],
  '19.09': ['Inform=template'],
};

describe('outputs of the tools themselves', function () {
  this.timeout(120_000);
  let tools: RealTools;
  before(async () => {
    tools = await startRealTools();
  });
  after(() => tools.stop());

  const entry = (tool: string, version: string) =>
    tools.entries.find((each) => each.tool === tool && each.version === version);

  async function check(tool: 'ffprobe' | 'mediainfo', version: string, option: string, format: string): Promise<void> {
    const { success, error, format: kind, output } = await tools.run(entry(tool, version)!, { [option]: format });
    const text = output?.toString() ?? '';
    const what = `${tool} ${version} ${format}: ${error ?? ''} ${text.slice(0, 200)}`;
    assert.ok(success, what);
    const member = JSON_MEMBER[format];
    assert.equal(kind, member === undefined ? 'text' : 'json', what);
    if (member === undefined) assert.match(text, BEGINS[format]!, what);
    else assert.ok(member in (JSON.parse(text) as object), what);
    assert.ok(!text.includes('s3cret') && !/127\.0\.0\.1:\d+\/[0-9a-f]{32}/.test(text), what);
  }

  for (const version of ['9.0', '7.1', '4.0']) {
    it(`ffprobe ${version}: ${FFPROBE.join(', ')}`, async function () {
      if (!entry('ffprobe', version)) {
        console.log('        skipped: its image is not built here');
        this.skip();
      }
      for (const format of FFPROBE) await check('ffprobe', version, 'output_format', format);
    });
  }
  for (const version of ['26.10', '20.09']) {
    it(`mediainfo ${version}: supports everything that it reports`, async function () {
      if (!entry('mediainfo', version)) {
        console.log('        skipped: its image is not built here');
        this.skip();
      }
      for (const output of WRITES[version]!) await check('mediainfo', version, 'output', output);
    });
  }

  const RUNS: [string, Record<string, string>, RegExp][] = [
    ['Details=1', { details: 'true' }, /^0+ File Type \(\d+ bytes\)\n/],
    ['Details=1', { details: 'true', output: 'XML' }, /<MediaTrace\s[\s\S]*<block /],
    ['Details=1', { details: 'true', full: 'true', language: 'de' }, /^0+ File Type/],
    ['Inform=template', { inform: 'General;%Format%' }, /^MPEG-4\n$/],
    ['Inform=template', { inform: 'General;%Format%-\nVideo;%Width%x%Height%' }, /^MPEG-4-128x72\n$/],
    ['Cover_Data=base64', { cover_data: 'true' }, /^\{/],
  ];
  for (const [version, extras] of Object.entries(EXTRAS)) {
    const runs = RUNS.filter(([extra]) => extras.includes(extra));
    const names = runs.map(([, options]) => Object.keys(options).join('+')).join(', ');
    it(`mediainfo ${version}: ${names}`, async function () {
      const found = entry('mediainfo', version);
      if (!found) {
        console.log('        skipped: its image is not built here');
        return this.skip();
      }
      for (const [, options, expected] of runs) {
        const { success, error, output, format } = await tools.run(found, options);
        const what = `${JSON.stringify(options)}: ${error} ${output?.toString().slice(0, 200)}`;
        assert.ok(success, what);
        assert.equal(format, 'cover_data' in options ? 'json' : 'text', what);
        assert.match(output?.toString() ?? '', expected, what);
        assert.ok(!output?.includes('s3cret'), what);
      }
    });
  }
  const FLAGGED: [string, Record<string, string>, RegExp][] = [
    ['HideParameter', { hide_parameter: 'General_Format' }, /^(?![\s\S]*"Format": ?"MPEG-4")[\s\S]*"Video"/],
    ['ShowParameter', { show_parameter: 'General_FileExtension', output: 'Text' }, /^File ?Extension +: /im],
    ['LegacyStreamDisplay', { legacy_stream_display: 'true' }, /^\{/],
    ['inform_version', { inform_version: 'true', output: 'Text' }, /MediaInfoLib - v26\.10/],
    ['inform_timestamp', { inform_timestamp: 'true', output: 'Text' }, /: UTC \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/],
    [
      'AcquisitionDataOutputMode',
      { acquisition_data_output_mode: 'parameterSegment', output: 'EBUCore_1.8_ps' },
      /<ebucore:/,
    ],
  ];
  it(`mediainfo 26.10: ${FLAGGED.map(([flag]) => flag).join(', ')}`, async function () {
    const found = entry('mediainfo', '26.10');
    if (!found) {
      console.log('        skipped: its image is not built here');
      return this.skip();
    }
    const proof = await tools.prove(found);
    assert.ok(proof.ok, JSON.stringify(proof));
    for (const [flag, options, expected] of FLAGGED) {
      assert.ok(proof.options.includes(flag), `${flag} is not in ${proof.options.join(' ')}`);
      const { success, error, output } = await tools.run(found, options);
      assert.ok(success, `${flag}: ${error}`);
      assert.match(output?.toString() ?? '', expected, flag);
    }
  });
  it('mediainfo 26.10: a template of streams that the source lacks is a success without output', async function () {
    const found = entry('mediainfo', '26.10');
    if (!found) {
      console.log('        skipped: its image is not built here');
      return this.skip();
    }
    const { success, output, error } = await tools.run(found, { inform: 'Text;%Format%' });
    assert.deepEqual([success, output, error], [true, null, undefined]);
  });

  it('ffprobe 9.0 accepts every option that it reports, with its extreme values', async function () {
    const found = entry('ffprobe', '9.0');
    if (!found) {
      console.log('        skipped: its image is not built here');
      return this.skip();
    }
    const proof = await tools.prove(found);
    assert.ok(proof.ok, JSON.stringify(proof));
    let tried = 0;
    for (const { tool, spec, accepted } of optionTable()) {
      if (
        tool !== 'ffprobe' ||
        spec.flag === undefined ||
        !proof.options.includes(spec.flag) ||
        spec.name === 'output_format'
      )
        continue;
      // The clip has two streams, and a value that would be a flag or a command elsewhere is no stream.
      for (const { value } of accepted.filter(
        (one) =>
          one.value !== false &&
          !(spec.name === 'max_streams' && one.value === 1) &&
          !/^[-$]/.test(typeof one.value === 'string' ? one.value : ''),
      )) {
        const { success, error } = await tools.run(found, { [spec.name]: String(value) });
        assert.ok(success, `${spec.name} ${String(value)}: ${error}`);
        tried++;
      }
    }
    assert.ok(tried > 60, `${tried}`);
  });

  for (const [version, outputs] of Object.entries(WRITES)) {
    it(`mediainfo ${version}: all ${outputs.length} output formats, and options without effect`, async function () {
      const found = entry('mediainfo', version);
      if (!found) {
        console.log('        skipped: its image is not built here');
        return this.skip();
      }
      const proof = await tools.prove(found);
      assert.ok(proof.ok, JSON.stringify(proof));
      assert.deepEqual(
        proof.options.filter((option) => option.startsWith('Output=')),
        outputs.map((output) => `Output=${output}`),
      );
      assert.deepEqual(
        proof.options.filter((option) => option.startsWith('!')),
        LACKS[version] ?? [],
      );
      assert.deepEqual(
        proof.options.filter((option) => /^(?:Details|Inform|Cover_Data)=/.test(option)),
        EXTRAS[version],
      );
    });
  }
});
