/** Rules for EXT-X-MEDIA, and for the groups that variants refer to. */
import { number, text, type Playlist, type Rendition } from '../playlist.ts';
import { info, must, quote, should, type Rule } from '../rule.ts';
import { judgeAddress } from './address.ts';
import { isAudioCodec, words } from './codecs.ts';
import type { Note } from './catalog.ts';

export const RENDITION_RULES = {
  'media-uri-captions': must('4.4.6.1')`Closed captions have an address, although they are in the video.
    Remove the URI.`,
  'media-uri-subtitles': must('4.4.6.1')`Subtitles have no address. Add the URI of the playlist of subtitles.`,
  'media-instream-missing': must('4.4.6.1')`Closed captions have no INSTREAM-ID. Add INSTREAM-ID.`,
  'media-instream-other': must('4.4.6.1')`
    INSTREAM-ID is given for something other than closed captions, before version 13 of the protocol.
    Remove INSTREAM-ID, or raise EXT-X-VERSION to 13.`,
  'media-instream-value': must('4.4.6.1')`The INSTREAM-ID of closed captions is not CC1 to CC4 or SERVICE1 to SERVICE63.
    Write CC1 to CC4 or SERVICE1 to SERVICE63.`,
  'media-default-autoselect': must('4.4.6.1')`A rendition that is DEFAULT is AUTOSELECT=NO. Set AUTOSELECT=YES.`,
  'media-forced': must('4.4.6.1')`FORCED is given for something other than subtitles. Remove FORCED.`,
  'media-language': must('4.4.6.1')`A language is not a tag of RFC 5646. Write a tag of RFC 5646: en, pt-BR.`,
  'media-language-missing': should('multivariant playlists')`LANGUAGE is missing from audio or subtitles.
    Add LANGUAGE.`,
  'media-name-repeated': must('4.4.6.1.1')`Two renditions of a group have the same NAME.
    Give each rendition of a group its own NAME.`,
  'media-default-several': must('4.4.6.1.1')`A group has more than one rendition that is DEFAULT.
    Keep one DEFAULT=YES in each group.`,
  'media-autoselect-repeated': must('4.4.6.1.1')`Two renditions of a group that are AUTOSELECT are alike.
    Make them differ, or set AUTOSELECT=NO for one.`,
  'media-default-none': info('4.4.6.1.1')`No audio rendition of a group is DEFAULT. Set DEFAULT=YES for one.`,
  'media-channels': should('4.4.6.1')`CHANNELS is missing from audio. Add CHANNELS.`,
  'media-channels-form': must('4.4.6.1')`CHANNELS does not begin with a number. Begin with the number: 2, 6, 16/JOC.`,
  'media-samples': should('4.4.6.1')`BIT-DEPTH or SAMPLE-RATE is 0, or is given for something other than audio.
    Remove it from what is not audio, or write the real value.`,
  'group-undefined': must('4.4.6.2')`A variant names a group that does not exist.
    Add EXT-X-MEDIA of this group, or correct its name.`,
  'group-unused': info('4.4.6.1')`A group is not named by any variant. Name the group in a variant, or remove it.`,
  'group-unequal': must('4.4.6.1.1')`Groups of one type have different renditions.
    Give each group the same renditions.`,
  'captions-none-some': must('4.4.6.2')`A variant has captions, although another one has CLOSED-CAPTIONS=NONE.
    Write CLOSED-CAPTIONS=NONE for all variants, or for none.`,
  'captions-form': must('4.4.6.2')`CLOSED-CAPTIONS is neither a group in quotes nor NONE.
    Write a group in quotes, or NONE without.`,
  'group-codecs': should('4.4.6.2')`CODECS of a variant does not name the format of its audio group.
    Add the format of the audio group to CODECS.`,
} satisfies Record<string, Rule>;

const GROUPS = ['AUDIO', 'VIDEO', 'SUBTITLES', 'CLOSED-CAPTIONS'] as const;
const LANGUAGE = /^(?:[A-Za-z]{2,3}(?:-[A-Za-z]{3}){0,3}|[A-Za-z]{4,8}|[xX]|[iI])(?:-[A-Za-z0-9]{1,8})*$/;

export function judgeRenditions(playlist: Playlist, note: Note): void {
  for (const rendition of playlist.renditions) judgeRendition(rendition, playlist, note);
  const groups = Map.groupBy(playlist.renditions, ({ type, group }) => `${type} ${group}`);
  for (const group of groups.values()) judgeGroup(group, note);
  judgeGroupsOfType(groups, note);

  const used = new Set<string>();
  const playable = playlist.variants.filter(({ iframes }) => !iframes);
  for (const { tag } of playlist.variants) {
    for (const type of GROUPS) {
      const named = tag.attributes.get(type);
      if (named === undefined) continue;
      if (type === 'CLOSED-CAPTIONS' && !named.quoted) {
        if (named.value !== 'NONE') note('captions-form', tag.line, quote(named.value));
        continue;
      }
      used.add(`${type} ${named.value}`);
      if (!groups.has(`${type} ${named.value}`)) note('group-undefined', tag.line, `${type}=${quote(named.value)}`);
    }
    const group = groups.get(`AUDIO ${text(tag, 'AUDIO')}`);
    const codecs = words(text(tag, 'CODECS'));
    if (group !== undefined && codecs.length > 0 && !codecs.some(isAudioCodec)) note('group-codecs', tag.line);
  }
  for (const [key, [first]] of groups)
    if (!used.has(key) && playable.length > 0) note('group-unused', first?.tag.line ?? 1, key);
  const isNone = ({ tag }: (typeof playable)[number]): boolean =>
    tag.attributes.get('CLOSED-CAPTIONS')?.quoted === false && text(tag, 'CLOSED-CAPTIONS') === 'NONE';
  if (playable.some(isNone))
    for (const variant of playable)
      if (!isNone(variant) && variant.tag.attributes.has('CLOSED-CAPTIONS'))
        note('captions-none-some', variant.tag.line);
}

function judgeRendition({ tag, type, uri }: Rendition, playlist: Playlist, note: Note): void {
  const { line } = tag;
  if (uri !== undefined) judgeAddress(uri, playlist.base, line, note);
  const channel = text(tag, 'INSTREAM-ID');
  if (type === 'CLOSED-CAPTIONS') {
    if (uri !== undefined) note('media-uri-captions', line);
    if (channel === undefined) note('media-instream-missing', line);
    else if (!/^(CC[1-4]|SERVICE([1-9]|[1-5]\d|6[0-3]))$/.test(channel))
      note('media-instream-value', line, quote(channel));
  } else if (channel !== undefined && (playlist.version ?? 1) < 13) note('media-instream-other', line, type);
  if (type === 'SUBTITLES' && uri === undefined) note('media-uri-subtitles', line);
  if (text(tag, 'DEFAULT') === 'YES' && text(tag, 'AUTOSELECT') === 'NO') note('media-default-autoselect', line);
  if (type !== 'SUBTITLES' && tag.attributes.has('FORCED')) note('media-forced', line, type);
  for (const name of ['LANGUAGE', 'ASSOC-LANGUAGE']) {
    const language = text(tag, name);
    if (language !== undefined && !LANGUAGE.test(language)) note('media-language', line, `${name}=${quote(language)}`);
  }
  if ((type === 'AUDIO' || type === 'SUBTITLES') && !tag.attributes.has('LANGUAGE'))
    note('media-language-missing', line);
  const channels = text(tag, 'CHANNELS');
  if (channels !== undefined && !/^[1-9]\d*(\/[^/]*)*$/.test(channels))
    note('media-channels-form', line, quote(channels));
  if (type === 'AUDIO' && channels === undefined) note('media-channels', line);
  for (const name of ['BIT-DEPTH', 'SAMPLE-RATE'])
    if (tag.attributes.has(name) && (type !== 'AUDIO' || number(tag, name) === 0)) note('media-samples', line, name);
}

function judgeGroup(group: readonly Rendition[], note: Note): void {
  const names = new Set<string>();
  const chosen = new Set<string>();
  let defaults = 0;
  for (const { tag } of group) {
    // With content steering, each pathway may have its own rendition of this name.
    const pathway = text(tag, 'PATHWAY-ID') ?? '';
    const name = `${text(tag, 'NAME')}\n${pathway}`;
    if (names.has(name)) note('media-name-repeated', tag.line, quote(text(tag, 'NAME') ?? ''));
    names.add(name);
    const isDefault = text(tag, 'DEFAULT') === 'YES';
    if (isDefault && ++defaults > 1) note('media-default-several', tag.line);
    if (!isDefault && text(tag, 'AUTOSELECT') !== 'YES') continue;
    const key = ['LANGUAGE', 'ASSOC-LANGUAGE', 'FORCED', 'CHARACTERISTICS', 'INSTREAM-ID', 'PATHWAY-ID']
      .map((attribute) => text(tag, attribute) ?? '')
      .join('\n');
    if (chosen.has(key) && text(tag, 'LANGUAGE') !== undefined) note('media-autoselect-repeated', tag.line);
    chosen.add(key);
  }
  const [first] = group;
  if (first?.type === 'AUDIO' && group.length > 1 && defaults === 0) note('media-default-none', first.tag.line);
}

function judgeGroupsOfType(groups: ReadonlyMap<string, Rendition[]>, note: Note): void {
  const models = new Map<string, { names: string; group: string }>();
  for (const list of groups.values()) {
    const [first] = list;
    if (first === undefined) continue;
    const names = [...new Set(list.map(({ tag }) => text(tag, 'NAME') ?? ''))].sort().join(', ');
    const model = models.get(first.type);
    if (model === undefined) models.set(first.type, { names, group: first.group });
    else if (model.names !== names)
      note(
        'group-unequal',
        first.tag.line,
        `${quote(first.group)} has ${quote(names)}, ${quote(model.group)} has ${quote(model.names)}`,
      );
  }
}
