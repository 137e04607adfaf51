import assert from 'node:assert/strict';
import {
  codecOf,
  FFPROBE_PROFILES,
  levelOf,
  MEDIAINFO_PROFILES,
  profileOf,
} from '../../src/media/report/normalise/codec.ts';
import { fromFfprobe, fromMediainfo, rangeOf } from '../../src/media/report/normalise/colour.ts';
import {
  extensionFits,
  fromFfprobe as containerOfFfprobe,
  fromMediainfo as containerOfMediainfo,
} from '../../src/media/report/normalise/container.ts';
import { languageOf } from '../../src/media/report/normalise/language.ts';
import { layoutOfName, layoutOfSpeakers } from '../../src/media/report/normalise/layout.ts';
import { pixelFormat } from '../../src/media/report/normalise/pixel_format.ts';
import { rateOf } from '../../src/media/report/normalise/ratio.ts';

const mediainfo = (more: object) => codecOf({ '@type': 'Video', ...more });

describe('report: normalisation of both tools', () => {
  for (const [texts, language] of [
    [['fre', 'fra', 'fr', 'FR'], 'fr'],
    [['ger', 'deu', 'de'], 'de'],
    [['eng', 'en'], 'en'],
    [['pt-BR', 'pt_BR'], 'pt-BR'],
    [['und', '', 'zxx', '```', 'English', undefined], undefined],
  ] as const) {
    for (const text of texts) it(`language ${text} is ${language}`, () => assert.equal(languageOf(text), language));
  }
  for (const [decimal, rate] of [
    [25, '25/1'],
    [23.976, '24000/1001'],
    [29.97, '30000/1001'],
    [59.94, '60000/1001'],
    [30, '30/1'],
    [12.5, '25/2'],
    [11.05, '221/20'],
  ] as const) {
    it(`rate ${decimal} is ${rate}`, () =>
      assert.equal(`${rateOf(decimal).numerator}/${rateOf(decimal).denominator}`, rate));
  }
  for (const [what, text, colour] of [
    ['primaries', 'BT.709', 'bt709'],
    ['primaries', 'BT.601 NTSC', 'smpte170m'],
    ['primaries', 'BT.601 PAL', 'bt470bg'],
    ['transfer', 'PQ', 'smpte2084'],
    ['transfer', 'HLG', 'arib-std-b67'],
    ['matrix', 'BT.2020 non-constant', 'bt2020nc'],
    ['matrix', 'BT.601', 'smpte170m'],
    ['matrix', 'Identity', 'gbr'],
    ['primaries', 'BT.2020 / BT.709', 'bt2020'],
  ] as const) {
    it(`${what} ${text} is ${colour}`, () => assert.equal(fromMediainfo(what, text), colour));
  }
  it('an unknown colour is undefined', () =>
    assert.deepEqual(
      [fromFfprobe('unknown'), fromFfprobe('reserved'), fromMediainfo('matrix', 'Reserved'), rangeOf('unknown')],
      [undefined, undefined, undefined, undefined],
    ));
  it('colour ranges have one spelling', () =>
    assert.deepEqual([rangeOf('tv'), rangeOf('Limited'), rangeOf('pc'), rangeOf('Full')], ['tv', 'tv', 'pc', 'pc']));

  for (const [name, model, order, chroma, depth, alpha] of [
    ['yuv420p', 'yuv', 'yuv', '4:2:0', 8, false],
    ['yuv422p10le', 'yuv', 'yuv', '4:2:2', 10, false],
    ['yuva444p12be', 'yuv', 'yuva', '4:4:4', 12, true],
    ['yuvj420p', 'yuv', 'yuv', '4:2:0', 8, false],
    ['nv12', 'yuv', 'yuv', '4:2:0', 8, false],
    ['p010le', 'yuv', 'yuv', '4:2:0', 10, false],
    ['uyvy422', 'yuv', 'uyvy', '4:2:2', 8, false],
    ['gray10le', 'gray', 'y', '4:0:0', 10, false],
    ['gbrp12le', 'rgb', 'gbr', undefined, 12, false],
    ['rgba', 'rgb', 'rgba', undefined, 8, true],
    ['rgb48be', 'rgb', 'rgb', undefined, 16, false],
    ['bgr0', 'rgb', 'bgr', undefined, 8, false],
  ] as const) {
    it(`pixel format ${name}`, () => {
      const fields = pixelFormat(name);
      assert.deepEqual(
        ['color_model', 'components_order', 'chroma_subsampling', 'bit_depth', 'has_alpha'].map(
          (field) => fields[`pixel_format.${field}`],
        ),
        [model, order, chroma, depth, alpha],
      );
    });
  }
  it('an unknown pixel format is undefined', () => assert.deepEqual(pixelFormat('xyz12'), {}));

  for (const [speakers, names, layout] of [
    ['L R', ['stereo'], 'stereo'],
    ['M', ['mono'], 'mono'],
    ['C', ['mono'], 'mono'],
    ['L R C LFE Ls Rs', ['5.1', '5.1(side)'], '5.1'],
    ['C L R Ls Rs LFE', [], '5.1'],
    ['L R C LFE Ls Rs Lb Rb', ['7.1', '7.1(wide)'], '7.1'],
    ['L R Ls Rs', ['quad', 'quad(side)'], 'quad'],
  ] as const) {
    it(`channels ${speakers} are ${layout}`, () => {
      assert.equal(layoutOfSpeakers(speakers), layout);
      for (const name of names) assert.equal(layoutOfName(name), layout);
    });
  }
  it('a layout that is only a number is undefined', () => assert.equal(layoutOfName('4 channels'), undefined));

  for (const [more, name] of [
    [{ Format: 'AVC' }, 'h264'],
    [{ Format: 'MPEG Video', Format_Version: '2' }, 'mpeg2video'],
    [{ Format: 'MPEG Video', Format_Version: 'Version 1' }, 'mpeg1video'],
    [{ Format: 'MPEG-4 Visual', CodecID: 'DIV3' }, 'msmpeg4v3'],
    [{ Format: 'VC-1', CodecID: 'WMV3' }, 'wmv3'],
    [{ Format: 'YUV', CodecID: 'ULY0' }, 'utvideo'],
    [{ '@type': 'Audio', Format: 'MPEG Audio', Format_Profile: 'Layer 3' }, 'mp3'],
    [{ '@type': 'Audio', Format: 'MPEG Audio', Format_Profile: 'Layer 2' }, 'mp2'],
    [{ '@type': 'Audio', Format: 'MLP FBA' }, 'truehd'],
    [{ '@type': 'Audio', Format: 'AMR', Format_Profile: 'Wide band' }, 'amr_wb'],
    [
      {
        '@type': 'Audio',
        Format: 'PCM',
        BitDepth: 16,
        Format_Settings_Endianness: 'Little',
        Format_Settings_Sign: 'Signed',
      },
      'pcm_s16le',
    ],
    [{ '@type': 'Audio', Format: 'PCM', BitDepth: 24, Format_Settings_Endianness: 'Big' }, 'pcm_s24be'],
    [
      { '@type': 'Audio', Format: 'PCM', BitDepth: 32, Format_Profile: 'Float', Format_Settings_Endianness: 'Little' },
      'pcm_f32le',
    ],
    [{ '@type': 'Audio', Format: 'PCM', BitDepth: 16 }, 'pcm'],
    [{ '@type': 'Text', Format: 'UTF-8' }, 'subrip'],
    [{ '@type': 'Text', Format: 'PGS' }, 'hdmv_pgs_subtitle'],
    [{ Format: 'something new' }, undefined],
  ] as const) {
    it(`mediainfo's ${Object.values(more).join(' ')} is ${name}`, () => assert.equal(mediainfo(more), name));
  }
  it('profiles have one spelling', () => {
    assert.equal(
      profileOf(MEDIAINFO_PROFILES, 'hevc', 'Format Range@L4@Main'),
      profileOf(FFPROBE_PROFILES, 'hevc', 'Rext'),
    );
    assert.equal(profileOf(MEDIAINFO_PROFILES, 'hevc', 'Main 4:2:2 10'), 'rext');
    assert.equal(profileOf(MEDIAINFO_PROFILES, 'aac', 'LC SBR'), profileOf(FFPROBE_PROFILES, 'aac', 'HE-AAC'));
    assert.equal(
      profileOf(MEDIAINFO_PROFILES, 'mpeg4', 'Simple@L1'),
      profileOf(FFPROBE_PROFILES, 'mpeg4', 'Simple Profile'),
    );
    assert.equal(profileOf(MEDIAINFO_PROFILES, 'vp9', '0'), profileOf(FFPROBE_PROFILES, 'vp9', 'Profile 0'));
    assert.equal(profileOf(MEDIAINFO_PROFILES, 'prores', '422 HQ'), profileOf(FFPROBE_PROFILES, 'prores', 'HQ'));
  });
  it('levels have one spelling', () =>
    assert.deepEqual(
      [
        levelOf('h264', 31),
        levelOf('h264', 40),
        levelOf('h264', 9),
        levelOf('hevc', 93),
        levelOf('hevc', 120),
        levelOf('vp9', -99),
      ],
      ['3.1', '4', '1b', '3.1', '4', undefined],
    ));
  it('containers have one spelling', () => {
    for (const [name, brand, format, codecId, plain] of [
      ['mov,mp4,m4a,3gp,3g2,mj2', 'isom', 'MPEG-4', 'isom', 'mp4'],
      ['mov,mp4,m4a,3gp,3g2,mj2', 'qt  ', 'MPEG-4', 'qt  ', 'mov'],
      ['mov,mp4,m4a,3gp,3g2,mj2', '3gp4', 'MPEG-4', '3gp4', '3gp'],
      ['mpegts', undefined, 'MPEG-TS', undefined, 'mpegts'],
      ['hls', undefined, 'HLS', undefined, 'hls'],
      ['jpeg_pipe', undefined, 'JPEG', undefined, 'jpeg'],
    ] as const) {
      assert.equal(containerOfFfprobe(name, brand), plain);
      assert.equal(containerOfMediainfo(format, undefined, codecId), plain);
    }
  });
  it('extensions match, do not match, or are undecided', () =>
    assert.deepEqual(
      [
        extensionFits('mp4', 'm4v'),
        extensionFits('matroska', 'mp4'),
        extensionFits('mp4', 'bin'),
        extensionFits('unheard', 'mp4'),
      ],
      [true, false, undefined, undefined],
    ));

  it("the name of an object's built-in member is in no table", () => {
    for (const name of ['constructor', 'toString', '__proto__']) {
      for (const type of ['Video', 'Audio', 'Text'])
        assert.equal(mediainfo({ '@type': type, Format: name }), undefined, type);
      assert.equal(mediainfo({ Format: 'MPEG-4 Visual', CodecID: name }), 'mpeg4');
      for (const codec of ['aac', name]) assert.equal(profileOf(MEDIAINFO_PROFILES, codec, name), name.toLowerCase());
      assert.equal(fromMediainfo('primaries', name), undefined);
      assert.equal(fromFfprobe(name), name);
      assert.equal(rangeOf(name), undefined);
      assert.equal(containerOfFfprobe(name, undefined), name);
      assert.equal(containerOfMediainfo(name), undefined);
      assert.equal(extensionFits(name, 'mp4'), undefined);
      assert.deepEqual([layoutOfName(name), layoutOfSpeakers(name)], [name, undefined]);
    }
  });
});
