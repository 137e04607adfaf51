/** Files of others whose pictures say what no container does, through the runner, by ffprobe's own binary. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { corpus } from '../corpus.ts';
import { startRealTools, type RealTools } from './real_tools.ts';

type Row = readonly [names: string[], formats: string[] | undefined, profile?: number | undefined, captions?: string[]];
const FILES: readonly Row[] = [
  [['dv-regular.hevc'], ['HDR10', 'Dolby Vision'], 8],
  [['dv-regular.mkv'], ['HDR10', 'Dolby Vision'], 8],
  [['hdr10-base-only.hevc'], ['HDR10']],
  [['hdr10plus-regular.hevc'], ['HDR10+', 'HDR10']],
  [['hdr10plus-regular.mkv'], ['HDR10+', 'HDR10']],
  [['hdr10plus-multimsg.hevc'], ['HDR10+', 'HDR10']],
  [['cc1-cc3.ts'], undefined, undefined, ['CC1', 'CC3']],
  [['dash-608-captions-init.mp4', 'dash-608-captions-seg.m4s'], undefined, undefined, ['CC1']],
];

describe('pictures of real files', function () {
  this.timeout(120_000);
  let tools: RealTools;
  let folder: string;
  before(async function () {
    folder = corpus(this, 'bitstream');
    tools = await startRealTools();
  });
  after(() => tools?.stop());

  for (const [names, formats, profile, captions] of FILES)
    it(`${names[0]} is reported as it is`, async function () {
      const entry = tools.entries.find(({ tool, version }) => tool === 'ffprobe' && version === '9.0');
      if (!entry) this.skip();
      const file = Buffer.concat(names.map((name) => readFileSync(join(folder, name))));
      const { streams, warnings } = await tools.report(entry, file, names[0]!.split('.').at(-1)!);
      const video = streams.find(({ type }) => type === 'video')!;
      assert.deepEqual([video.hdr?.formats, video.hdr?.dolby_vision_profile], [formats, profile]);
      assert.deepEqual(
        video.captions?.map(({ service }) => service),
        captions,
      );
      assert.equal(
        warnings.some(({ code }) => code === 'captions-not-signalled'),
        captions !== undefined,
      );
    });

  for (const name of ['mp4/sample_fragmented_sgpd_v2.mp4', 'mp4/sample_fragmented_variable_length_sgpd.mp4'])
    it(`${name} is not damaged: it is encrypted`, async function () {
      const file = readFileSync(join(corpus(this, 'media'), name));
      const entry = tools.entries.find(({ tool, version }) => tool === 'ffprobe' && version === '9.0');
      if (!entry) this.skip();
      const { warnings } = await tools.report(entry, file, 'mp4');
      assert.ok(!warnings.some(({ code }) => code === 'damaged'), JSON.stringify(warnings));
    });
});
