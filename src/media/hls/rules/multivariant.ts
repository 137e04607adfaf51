/**
 * Rules for a multivariant playlist: variants, I-frame variants, session data and keys, steering. Renditions are in
 * renditions.ts.
 */
import { has, number, tagsOf, text, type Playlist, type Variant } from '../playlist.ts';
import { info, must, quote, should, type Rule } from '../rule.ts';
import { judgeAddress } from './address.ts';
import { codecProblems, isHdrOnly, isVideoCodec, words } from './codecs.ts';
import { judgeKey } from './keys.ts';
import type { Note } from './catalog.ts';

export const MULTIVARIANT_RULES = {
  'variants-none': should('4.4.6.2')`The multivariant playlist has no variants. Add at least one EXT-X-STREAM-INF.`,
  'bandwidth-zero': must('4.4.6.2')`BANDWIDTH is 0. Write the peak bit rate.`,
  'bandwidth-average': must('4.4.6.2')`AVERAGE-BANDWIDTH is above BANDWIDTH.
    Write the peak as BANDWIDTH and the mean as AVERAGE-BANDWIDTH.`,
  'average-missing': should('multivariant playlists')`AVERAGE-BANDWIDTH is missing. Add AVERAGE-BANDWIDTH.`,
  'codecs-missing': should('4.4.6.2')`CODECS is missing. Add CODECS with every format of the variant.`,
  'codecs-form': must('4.4.6.2')`CODECS has a format that is not written as in RFC 6381.
    Write formats as RFC 6381 does: avc1.64001f,mp4a.40.2.`,
  'codecs-old': should('4.4.6.2')`CODECS has H.264 in its obsolete form. Write six hexadecimal digits: avc1.64001f.`,
  'resolution-missing': should('4.4.6.2')`RESOLUTION is missing from a variant with video. Add RESOLUTION.`,
  'frame-rate-missing': should('4.4.6.2')`FRAME-RATE is missing from a variant with video. Add FRAME-RATE.`,
  'frame-rate-high': should('video encoding')`The frame rate is above 60. Encode at 60 frames per second or fewer.`,
  'frame-rate-zero': must('4.4.6.2')`FRAME-RATE is 0. Write the frame rate.`,
  'independent-missing': should('multivariant playlists')`
    EXT-X-INDEPENDENT-SEGMENTS is missing from the multivariant playlist.
    Begin segments with key frames, and add EXT-X-INDEPENDENT-SEGMENTS.`,
  'video-range-missing': should('4.4.6.2')`VIDEO-RANGE is missing from a variant of high dynamic range.
    Add VIDEO-RANGE=HLG or PQ.`,
  'video-range-codec': should('4.4.6.2')`VIDEO-RANGE does not fit the format, because players take H.264 as SDR.
    Use HEVC or AV1 for HDR, or declare SDR.`,
  'supplemental-form': must('4.4.6.2')`SUPPLEMENTAL-CODECS has a format without its compatible brands.
    Write format and brands with slashes: dvh1.08.07/db4h.`,
  'video-layout-form': must('4.4.6.2')`REQ-VIDEO-LAYOUT has a value that is not defined. Use the values of the clause.`,
  'cpc-form': must('4.4.6.2')`ALLOWED-CPC is not in the form KEYFORMAT:name/name. Write KEYFORMAT:name/name.`,
  'score-some': should('4.4.6.2')`A variant has no SCORE, although another one has.
    Give each variant a SCORE, or none.`,
  'variant-repeated': should('4.4.6.2')`Two variants are the same. Remove one of them.`,
  'variant-attributes': should('4.4.6.2')`A playlist that is offered several times has different attributes.
    Give each offer of one playlist the same attributes.`,
  'variant-first': info('multivariant playlists')`The first variant, which is played first, is at an end of the ladder.
    Put first the variant that most viewers should begin with.`,
  'ladder-gap': info('multivariant playlists')`
    The bit rates of two neighbouring variants are more than two and a half times apart.
    Add a variant between the two.`,
  'iframes-missing': should('trick play')`Video has no I-frame variants for scrubbing.
    Add EXT-X-I-FRAME-STREAM-INF variants.`,
  'iframes-attribute': must('4.4.6.3')`An I-frame variant has an attribute for frame rate, audio, subtitles or captions.
    Remove the attribute from the I-frame variant.`,
  'session-data-value': must('4.4.6.4')`Session data does not have exactly one of VALUE and URI. Keep VALUE or URI.`,
  'session-data-repeated': must('4.4.6.4')`Session data of one DATA-ID and language occurs more than once.
    Give each language its own, once.`,
  'session-key-repeated': must('4.4.6.5')`Two session keys are the same. Remove the repetition.`,
  'steering-pathway': must('4.4.6.6')`The first pathway is not the pathway of a variant.
    Set PATHWAY-ID to the pathway of a variant.`,
  'steering-unequal': must('7.1')`Two pathways have different variants. Offer each variant on every pathway.`,
  'captions-unsaid': should('multivariant playlists')`CLOSED-CAPTIONS is missing from a variant with video.
    Add CLOSED-CAPTIONS=NONE, or the group of captions.`,
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

const LAYOUT = /^(CH-(STEREO|MONO)|PROJ-(RECT|EQUI|HEQU|PRIM|AIV))$/;

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
  if (layout !== undefined && !layout.split(/[,/]/).every((word) => LAYOUT.test(word)))
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

/** Attributes that may differ where a playlist is offered with several groups. */
const OF_OFFER = new Set(
  (
    'AUDIO SUBTITLES CLOSED-CAPTIONS VIDEO BANDWIDTH AVERAGE-BANDWIDTH CODECS SCORE STABLE-VARIANT-ID PATHWAY-ID ' +
    'NAME'
  ).split(' '),
);
const listed = ({ tag }: Variant, without?: ReadonlySet<string>): string =>
  [...tag.attributes]
    .filter(([name]) => !without?.has(name))
    .map(([name, { value }]) => `${name}=${value}`)
    .sort()
    .join();
const rateOf = ({ tag }: Variant): number => number(tag, 'AVERAGE-BANDWIDTH') ?? number(tag, 'BANDWIDTH') ?? 0;

function judgeTogether(variants: readonly Variant[], note: Note): void {
  const scored = variants.filter(({ tag }) => tag.attributes.has('SCORE')).length;
  if (scored > 0 && scored < variants.length)
    note('score-some', variants.find(({ tag }) => !tag.attributes.has('SCORE'))?.tag.line ?? 1);
  const byUri = new Map<string, { whole: Set<string>; plain: string }>();
  for (const variant of variants) {
    const known = byUri.get(variant.uri);
    const [whole, plain] = [listed(variant), listed(variant, OF_OFFER)];
    if (known === undefined) byUri.set(variant.uri, { whole: new Set([whole]), plain });
    else if (known.whole.has(whole)) note('variant-repeated', variant.tag.line);
    else {
      known.whole.add(whole);
      if (known.plain !== plain) note('variant-attributes', variant.tag.line);
    }
  }
  const video = variants.filter(hasVideo);
  const rates = [...new Set(video.map(rateOf))].sort((a, b) => a - b);
  const first = video[0];
  if (first !== undefined && rates.length >= 4) {
    const rate = rateOf(first);
    if (rate === rates[0] || rate === rates.at(-1))
      note('variant-first', first.tag.line, rate === rates[0] ? 'the lowest' : 'the highest');
  }
  for (const [index, rate] of rates.entries()) {
    const lower = rates[index - 1] ?? 0;
    if (lower > 0 && rate > 2.5 * lower)
      note('ladder-gap', video.find((one) => rateOf(one) === rate)?.tag.line ?? 1, `${rate} over ${lower}`);
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
  const pathways = Map.groupBy(variants, ({ tag }) => text(tag, 'PATHWAY-ID') ?? '.');
  if (first !== undefined && !pathways.has(first)) note('steering-pathway', line, quote(first));
  const offered = (list: readonly Variant[]): string =>
    list
      .map(({ tag }) => `${text(tag, 'RESOLUTION')} ${text(tag, 'CODECS')} ${text(tag, 'BANDWIDTH')}`)
      .sort()
      .join('\n');
  const [[, model] = ['', []], ...others] = pathways;
  const wanted = offered(model);
  for (const [id, list] of others) {
    if (offered(list) === wanted) continue;
    const suffix = list.length === model.length ? ' others' : '';
    note('steering-unequal', line, `${quote(id)} has ${list.length} variants, the first has ${model.length}${suffix}`);
  }
}
