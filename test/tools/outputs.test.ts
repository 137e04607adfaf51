/** Every output format of both tools, through the runner, from the binaries themselves. */
import assert from 'node:assert/strict';
import { MEDIAINFO_OUTPUTS } from '../../src/tools/mediainfo.ts';
import { optionTable } from '../../docs/tables/options.ts';
import { startRealTools, type RealTools } from './real_tools.ts';

const FFPROBE = ['default', 'csv', 'flat', 'ini', 'json', 'xml'] as const;

/** What the output of a format begins with. */
const BEGINS: Record<string, RegExp> = {
  default: /^\[STREAM\]\n/,
  csv: /^stream,0,h264,/,
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
  JSON: 'media',
  'EBUCore_1.8_ps_JSON': 'ebucore:ebuCoreMain',
  'EBUCore_1.8_sp_JSON': 'ebucore:ebuCoreMain',
};

const OLD = MEDIAINFO_OUTPUTS.filter((output) => !output.startsWith('MPEG-7'));
/** What the builds of the catalog were compiled with. */
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
    it(`mediainfo ${version}: all that it reports to have`, async function () {
      if (!entry('mediainfo', version)) {
        console.log('        skipped: its image is not built here');
        this.skip();
      }
      for (const output of WRITES[version]!) await check('mediainfo', version, 'output', output);
    });
  }

  it('ffprobe 9.0 takes every option that it reports, at the ends of its range', async function () {
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
      // The clip has two streams; and what would be a flag or a command elsewhere is no stream.
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
    });
  }
});
