/**
 * Rules for a multivariant playlist: variants, I-frame variants, session data and keys, steering. Renditions are in
 * renditions.ts.
 */
import { has, number, tagsOf, text, type Playlist, type Variant } from '../playlist.ts';
import { info, must, quote, should, type NoteOf, type Rule } from '../rule.ts';
import { judgeAddress, type AddressRule } from './address.ts';
import { codecProblems, isHdrOnly, isVideoCodec, words } from './codecs.ts';
import { IFRAMES, aMain, raw, aVariant } from './example.ts';
import { judgeKey, type KeyRule } from './keys.ts';

type Note = NoteOf<keyof typeof MULTIVARIANT_RULES | AddressRule | KeyRule | 'define-import-multivariant'>;

const STEERED = '#EXT-X-CONTENT-STEERING:SERVER-URI="steer.json",PATHWAY-ID="A"';

export const MULTIVARIANT_RULES = {
  'variants-none': should(
    '4.4.6.2',
    'A multivariant playlist has variants',
    'Add at least one EXT-X-STREAM-INF.',
    raw('#EXTM3U', '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",URI="en.m3u8"'),
    aMain(),
  ),
  'bandwidth-zero': must(
    '4.4.6.2',
    'BANDWIDTH is above 0',
    'Write the peak bit rate.',
    aMain(aVariant({ BANDWIDTH: '0', 'AVERAGE-BANDWIDTH': null })),
    aMain(),
  ),
  'bandwidth-average': must(
    '4.4.6.2',
    'AVERAGE-BANDWIDTH is not above BANDWIDTH',
    'Write the peak as BANDWIDTH and the mean as AVERAGE-BANDWIDTH.',
    aMain(aVariant({ 'AVERAGE-BANDWIDTH': '2000001' })),
    aMain(),
  ),
  'average-missing': should(
    'multivariant playlists',
    'A variant has AVERAGE-BANDWIDTH',
    'Add AVERAGE-BANDWIDTH.',
    aMain(aVariant({ 'AVERAGE-BANDWIDTH': null })),
    aMain(),
  ),
  'codecs-missing': should(
    '4.4.6.2',
    'A variant has CODECS',
    'Add CODECS with every format of the variant.',
    aMain(aVariant({ CODECS: null })),
    aMain(),
  ),
  'codecs-form': must(
    '4.4.6.2',
    'CODECS names formats as RFC 6381 writes them',
    'Write formats as RFC 6381 does: avc1.64001f,mp4a.40.2.',
    aMain(aVariant({ CODECS: '"avc1.64,mp4a.40.2"' })),
    aMain(),
  ),
  'codecs-old': should(
    '4.4.6.2',
    'H.264 is written with six hexadecimal digits',
    'Write six hexadecimal digits: avc1.64001f.',
    aMain(aVariant({ CODECS: '"avc1.77.30"' })),
    aMain(),
  ),
  'resolution-missing': should(
    '4.4.6.2',
    'A variant with video has RESOLUTION',
    'Add RESOLUTION.',
    aMain(aVariant({ RESOLUTION: null })),
    aMain(),
  ),
  'frame-rate-missing': should(
    '4.4.6.2',
    'A variant with video has FRAME-RATE',
    'Add FRAME-RATE.',
    aMain(aVariant({ 'FRAME-RATE': null })),
    aMain(),
  ),
  'frame-rate-high': should(
    'video encoding',
    'Frame rates are at most 60',
    'Encode at 60 frames per second or fewer.',
    aMain(aVariant({ 'FRAME-RATE': '120.000' })),
    aMain(),
  ),
  'frame-rate-zero': must(
    '4.4.6.2',
    'FRAME-RATE is above 0',
    'Write the frame rate.',
    aMain(aVariant({ 'FRAME-RATE': '0' })),
    aMain(),
  ),
  'independent-missing': should(
    'multivariant playlists',
    'EXT-X-INDEPENDENT-SEGMENTS in the multivariant playlist says that every segment can be decoded by itself',
    'Begin segments with key frames, and add EXT-X-INDEPENDENT-SEGMENTS.',
    aMain().replace('#EXT-X-INDEPENDENT-SEGMENTS\n', ''),
    aMain(),
  ),
  'video-range-missing': should(
    '4.4.6.2',
    'A variant of high dynamic range names its VIDEO-RANGE',
    'Add VIDEO-RANGE=HLG or PQ.',
    aMain(aVariant({ CODECS: '"dvh1.05.06,mp4a.40.2"' })),
    aMain(aVariant({ CODECS: '"dvh1.05.06,mp4a.40.2"', 'VIDEO-RANGE': 'PQ' })),
  ),
  'video-range-codec': should(
    '4.4.6.2',
    'VIDEO-RANGE fits the format: H.264 carries neither HLG nor PQ to players',
    'Use HEVC or AV1 for HDR, or declare SDR.',
    aMain(aVariant({ 'VIDEO-RANGE': 'PQ' })),
    aMain(aVariant({ 'VIDEO-RANGE': 'SDR' })),
  ),
  'supplemental-form': must(
    '4.4.6.2',
    'SUPPLEMENTAL-CODECS are formats, each with its compatible brands',
    'Write format and brands with slashes: dvh1.08.07/db4h.',
    aMain(aVariant({ 'SUPPLEMENTAL-CODECS': '"dvh1.08.07"' })),
    aMain(aVariant({ 'SUPPLEMENTAL-CODECS': '"dvh1.08.07/db4h"' })),
  ),
  'video-layout-form': must(
    '4.4.6.2',
    'REQ-VIDEO-LAYOUT is CH-STEREO, CH-MONO, or a projection, separated by slashes',
    'Use the values of the clause.',
    aMain(aVariant({ 'REQ-VIDEO-LAYOUT': '"3D"' })).replace('VERSION:9', 'VERSION:12'),
    aMain(aVariant({ 'REQ-VIDEO-LAYOUT': '"CH-STEREO"' })).replace('VERSION:9', 'VERSION:12'),
  ),
  'cpc-form': must(
    '4.4.6.2',
    'ALLOWED-CPC is KEYFORMAT:name/name, separated by commas',
    'Write KEYFORMAT:name/name.',
    aMain(aVariant({ 'ALLOWED-CPC': '"SMART-TV"' })),
    aMain(aVariant({ 'ALLOWED-CPC': '"com.example.drm:SMART-TV/PC"' })),
  ),
  'score-some': should(
    '4.4.6.2',
    'If one variant has a SCORE, all have one',
    'Give each variant a SCORE, or none.',
    aMain(aVariant({ SCORE: '1.0' }, 'a.m3u8'), aVariant({ BANDWIDTH: '3000000' }, 'b.m3u8')),
    aMain(aVariant({ SCORE: '1.0' }, 'a.m3u8'), aVariant({ BANDWIDTH: '3000000', SCORE: '2.0' }, 'b.m3u8')),
  ),
  'variant-repeated': should(
    '4.4.6.2',
    'Two variants differ',
    'Remove one of them.',
    aMain(aVariant({}), aVariant({})),
    aMain(aVariant({}), aVariant({}, 'other/video.m3u8')),
  ),
  'variant-attributes': should(
    '4.4.6.2',
    'A playlist that is offered several times has the same attributes, except for its groups',
    'Give each offer of one playlist the same attributes.',
    aMain(aVariant({}), aVariant({ RESOLUTION: '640x360' })),
    aMain(aVariant({}), aVariant({ RESOLUTION: '640x360' }, 'other.m3u8')),
  ),
  'variant-first': info(
    'multivariant playlists',
    'The first variant is played first: it is neither the lowest nor the highest of many',
    'Put first the variant that most viewers should begin with.',
    aMain(
      ...[4, 1, 2, 3].map((n) => aVariant({ BANDWIDTH: `${n}000000`, 'AVERAGE-BANDWIDTH': `${n}000000` }, `${n}.m3u8`)),
    ),
    aMain(
      ...[2, 1, 3, 4].map((n) => aVariant({ BANDWIDTH: `${n}000000`, 'AVERAGE-BANDWIDTH': `${n}000000` }, `${n}.m3u8`)),
    ),
  ),
  'ladder-gap': info(
    'multivariant playlists',
    'Bit rates of variants one above the other are at most two and a half times apart',
    'Add a variant between the two.',
    aMain(
      aVariant({ BANDWIDTH: '1000000', 'AVERAGE-BANDWIDTH': '1000000' }, '1.m3u8'),
      aVariant({ BANDWIDTH: '4000000', 'AVERAGE-BANDWIDTH': '4000000' }, '4.m3u8'),
    ),
    aMain(
      aVariant({ BANDWIDTH: '1000000', 'AVERAGE-BANDWIDTH': '1000000' }, '1.m3u8'),
      aVariant({ BANDWIDTH: '2000000' }, '2.m3u8'),
    ),
  ),
  'iframes-missing': should(
    'trick play',
    'Video has I-frame variants for scrubbing',
    'Add EXT-X-I-FRAME-STREAM-INF variants.',
    aMain(),
    aMain(IFRAMES),
  ),
  'iframes-attribute': must(
    '4.4.6.3',
    'An I-frame variant has no attributes for frame rate, audio, subtitles or captions',
    'Remove the attribute from the I-frame variant.',
    aMain(`${IFRAMES},FRAME-RATE=25`),
    aMain(IFRAMES),
  ),
  'session-data-value': must(
    '4.4.6.4',
    'Session data has one of VALUE and URI',
    'Keep VALUE or URI.',
    aMain('#EXT-X-SESSION-DATA:DATA-ID="a"'),
    aMain('#EXT-X-SESSION-DATA:DATA-ID="a",VALUE="1"'),
  ),
  'session-data-repeated': must(
    '4.4.6.4',
    'Session data of one DATA-ID occurs once for each language',
    'Give each language its own, once.',
    aMain('#EXT-X-SESSION-DATA:DATA-ID="a",VALUE="1"', '#EXT-X-SESSION-DATA:DATA-ID="a",VALUE="2"'),
    aMain(
      '#EXT-X-SESSION-DATA:DATA-ID="a",VALUE="1",LANGUAGE="en"',
      '#EXT-X-SESSION-DATA:DATA-ID="a",VALUE="2",LANGUAGE="fr"',
    ),
  ),
  'session-key-repeated': must(
    '4.4.6.5',
    'All session keys differ',
    'Remove the repetition.',
    aMain(...Array<string>(2).fill('#EXT-X-SESSION-KEY:METHOD=AES-128,URI="https://k/1"')),
    aMain('#EXT-X-SESSION-KEY:METHOD=AES-128,URI="https://k/1"', '#EXT-X-SESSION-KEY:METHOD=AES-128,URI="https://k/2"'),
  ),
  'steering-pathway': must(
    '4.4.6.6',
    'The first pathway is the pathway of a variant',
    'Set PATHWAY-ID to the pathway of a variant.',
    aMain(STEERED, aVariant({ 'PATHWAY-ID': '"B"' })),
    aMain(STEERED, aVariant({ 'PATHWAY-ID': '"A"' })),
  ),
  'steering-unequal': must(
    '7.1',
    'Every pathway has the same variants',
    'Offer each variant on every pathway.',
    aMain(
      STEERED,
      aVariant({ 'PATHWAY-ID': '"A"' }, 'a/1.m3u8'),
      aVariant({ 'PATHWAY-ID': '"A"', BANDWIDTH: '3000000' }, 'a/2.m3u8'),
      aVariant({ 'PATHWAY-ID': '"B"' }, 'b/1.m3u8'),
    ),
    aMain(STEERED, aVariant({ 'PATHWAY-ID': '"A"' }, 'a/1.m3u8'), aVariant({ 'PATHWAY-ID': '"B"' }, 'b/1.m3u8')),
  ),
  'captions-unsaid': should(
    'multivariant playlists',
    'A variant with video says which closed captions it has, or CLOSED-CAPTIONS=NONE',
    'Add CLOSED-CAPTIONS=NONE, or the group of captions.',
    aMain(aVariant({ 'CLOSED-CAPTIONS': null })),
    aMain(),
  ),
} satisfies Record<string, Rule>;

const hasVideo = ({ tag }: Variant): boolean => {
  const codecs = words(text(tag, 'CODECS'));
  return codecs.length > 0
    ? codecs.some(isVideoCodec)
    : tag.attributes.has('RESOLUTION') || tag.attributes.has('VIDEO');
};

export function judgeMultivariant(playlist: Playlist, note: Note): void {
  const { variants } = playlist;
  const playable = variants.filter(({ iframes }) => !iframes);
  for (const define of tagsOf(playlist, 'EXT-X-DEFINE'))
    if (define.attributes.has('IMPORT')) note('define-import-multivariant', define.line);
  if (playable.length === 0) note('variants-none', playlist.lines);
  else if (!has(playlist, 'EXT-X-INDEPENDENT-SEGMENTS')) note('independent-missing', 1);
  for (const variant of variants) judgeVariant(variant, playlist, note);
  judgeTogether(playable, note);
  if (playable.some(hasVideo) && !variants.some(({ iframes }) => iframes))
    note('iframes-missing', playable[0]?.tag.line ?? 1);
  judgeSession(playlist, note);
  const [steering] = tagsOf(playlist, 'EXT-X-CONTENT-STEERING');
  if (steering !== undefined) judgeSteering(text(steering, 'PATHWAY-ID'), steering.line, playable, note);
}

function judgeVariant(variant: Variant, { base }: Playlist, note: Note): void {
  const { tag, iframes } = variant;
  const { line } = tag;
  judgeAddress(variant.uri, base, variant.line, note);
  const bandwidth = number(tag, 'BANDWIDTH');
  const average = number(tag, 'AVERAGE-BANDWIDTH');
  if (bandwidth === 0) note('bandwidth-zero', line);
  else if (average !== undefined && bandwidth !== undefined && average > bandwidth)
    note('bandwidth-average', line, `${average} over ${bandwidth}`);
  if (average === undefined && !iframes) note('average-missing', line);
  const codecs = text(tag, 'CODECS');
  if (codecs === undefined) note('codecs-missing', line);
  else {
    for (const problem of codecProblems(codecs))
      note(problem.old ? 'codecs-old' : 'codecs-form', line, quote(problem.codec));
    const range = text(tag, 'VIDEO-RANGE');
    if (range === undefined && words(codecs).some(isHdrOnly)) note('video-range-missing', line);
    if ((range === 'PQ' || range === 'HLG') && words(codecs).some((codec) => codec.startsWith('avc')))
      note('video-range-codec', line, `${range} with ${words(codecs).find((codec) => codec.startsWith('avc'))}`);
  }
  const supplemental = text(tag, 'SUPPLEMENTAL-CODECS');
  if (supplemental !== undefined && !words(supplemental).every((codec) => /^[\w.-]+(\/[\w.-]{1,4})+$/.test(codec)))
    note('supplemental-form', line, quote(supplemental));
  const layout = text(tag, 'REQ-VIDEO-LAYOUT');
  if (
    layout !== undefined &&
    !layout
      .split(',')
      .every((one) => one.split('/').every((word) => /^(CH-(STEREO|MONO)|PROJ-(RECT|EQUI|HEQU|PRIM|AIV))$/.test(word)))
  )
    note('video-layout-form', line, quote(layout));
  const cpc = text(tag, 'ALLOWED-CPC');
  if (cpc !== undefined && !cpc.split(',').every((one) => /^[^:]+(:[^:]+)*:([A-Z0-9a-z_/-]*)$/.test(one)))
    note('cpc-form', line, quote(cpc));
  const rate = number(tag, 'FRAME-RATE');
  if (rate === 0) note('frame-rate-zero', line);
  else if (rate !== undefined && rate > 60.01) note('frame-rate-high', line, String(rate));
  if (iframes) {
    for (const name of ['FRAME-RATE', 'AUDIO', 'SUBTITLES', 'CLOSED-CAPTIONS'])
      if (tag.attributes.has(name)) note('iframes-attribute', line, name);
    return;
  }
  if (!hasVideo(variant)) return;
  if (!tag.attributes.has('RESOLUTION')) note('resolution-missing', line);
  if (!tag.attributes.has('FRAME-RATE')) note('frame-rate-missing', line);
  if (!tag.attributes.has('CLOSED-CAPTIONS')) note('captions-unsaid', line);
}

const plainOf = ({ tag }: Variant): string =>
  [...tag.attributes]
    .filter(
      ([name]) =>
        ![
          'AUDIO',
          'SUBTITLES',
          'CLOSED-CAPTIONS',
          'VIDEO',
          'BANDWIDTH',
          'AVERAGE-BANDWIDTH',
          'CODECS',
          'SCORE',
          'STABLE-VARIANT-ID',
          'PATHWAY-ID',
          'NAME',
        ].includes(name),
    )
    .map(([name, { value }]) => `${name}=${value}`)
    .sort()
    .join();
const wholeOf = ({ tag }: Variant): string =>
  [...tag.attributes]
    .map(([name, { value }]) => `${name}=${value}`)
    .sort()
    .join();

function judgeTogether(variants: readonly Variant[], note: Note): void {
  const scored = variants.filter(({ tag }) => tag.attributes.has('SCORE')).length;
  if (scored > 0 && scored < variants.length)
    note('score-some', variants.find(({ tag }) => !tag.attributes.has('SCORE'))?.tag.line ?? 1);
  const byUri = new Map<string, { whole: Set<string>; plain: string }>();
  for (const variant of variants) {
    const known = byUri.get(variant.uri);
    if (known === undefined) byUri.set(variant.uri, { whole: new Set([wholeOf(variant)]), plain: plainOf(variant) });
    else if (known.whole.has(wholeOf(variant))) note('variant-repeated', variant.tag.line);
    else {
      known.whole.add(wholeOf(variant));
      if (known.plain !== plainOf(variant)) note('variant-attributes', variant.tag.line);
    }
  }
  const video = variants.filter(hasVideo);
  const rates = [
    ...new Set(video.map(({ tag }) => number(tag, 'AVERAGE-BANDWIDTH') ?? number(tag, 'BANDWIDTH') ?? 0)),
  ].sort((a, b) => a - b);
  const first = video[0];
  if (first !== undefined && rates.length >= 4) {
    const rate = number(first.tag, 'AVERAGE-BANDWIDTH') ?? number(first.tag, 'BANDWIDTH') ?? 0;
    if (rate === rates[0] || rate === rates.at(-1))
      note('variant-first', first.tag.line, rate === rates[0] ? 'the lowest' : 'the highest');
  }
  for (const [index, rate] of rates.entries()) {
    const lower = rates[index - 1] ?? 0;
    if (lower > 0 && rate > 2.5 * lower)
      note(
        'ladder-gap',
        video.find(({ tag }) => (number(tag, 'AVERAGE-BANDWIDTH') ?? number(tag, 'BANDWIDTH')) === rate)?.tag.line ?? 1,
        `${rate} over ${lower}`,
      );
  }
}

function judgeSession(playlist: Playlist, note: Note): void {
  const data = new Set<string>();
  for (const tag of tagsOf(playlist, 'EXT-X-SESSION-DATA')) {
    const given = ['VALUE', 'URI'].filter((name) => tag.attributes.has(name)).length;
    if (given !== 1) note('session-data-value', tag.line, given === 0 ? 'neither' : 'both');
    const key = JSON.stringify([text(tag, 'DATA-ID'), text(tag, 'LANGUAGE')]);
    if (data.has(key)) note('session-data-repeated', tag.line);
    data.add(key);
  }
  const keys = new Set<string>();
  for (const tag of tagsOf(playlist, 'EXT-X-SESSION-KEY')) {
    judgeKey(tag, note);
    const key = ['METHOD', 'URI', 'IV', 'KEYFORMAT', 'KEYFORMATVERSIONS']
      .map((name) => text(tag, name) ?? '')
      .join('\n');
    if (keys.has(key)) note('session-key-repeated', tag.line);
    keys.add(key);
  }
}

function judgeSteering(first: string | undefined, line: number, variants: readonly Variant[], note: Note): void {
  const pathways = new Map<string, string[]>();
  for (const { tag } of variants) {
    const id = text(tag, 'PATHWAY-ID') ?? '.';
    const list = pathways.get(id) ?? [];
    if (list.length === 0) pathways.set(id, list);
    list.push(`${text(tag, 'RESOLUTION')} ${text(tag, 'CODECS')} ${text(tag, 'BANDWIDTH')}`);
  }
  if (first !== undefined && !pathways.has(first)) note('steering-pathway', line, quote(first));
  const [[, model] = ['', []], ...others] = pathways;
  const wanted = [...model].sort().join('\n');
  for (const [id, list] of others) {
    if ([...list].sort().join('\n') === wanted) continue;
    const suffix = list.length === model.length ? ' others' : '';
    note('steering-unequal', line, `${quote(id)} has ${list.length} variants, the first has ${model.length}${suffix}`);
  }
}
