/**
 * Channel layouts by ffmpeg's names, without the distinction between side and back, which the tools make differently.
 */
import { table } from '../json.ts';

const BY_SPEAKERS = table<string>({
  M: 'mono',
  C: 'mono',
  'L R': 'stereo',
  'LFE L R': '2.1',
  'C L R': '3.0',
  'C L LFE R': '3.1',
  'L R S S': 'quad',
  'C L R S S': '5.0',
  'C L LFE R S S': '5.1',
  'C L R X': '4.0',
  'C L LFE R X': '4.1',
  'C L LFE R S S X': '6.1',
  'C L LFE R S S S S': '7.1',
  'C L R S S S S': '7.0',
  'L LFE R': '2.1',
  'L LFE R S S': '4.1',
  'L R X': '3.0(back)',
});
/** Names of speakers, by what they are in a layout. */
const SPEAKERS = {
  S: 'Ls Rs Lb Rb Lss Rss Lsr Rsr Lrs Rrs SL SR BL BR',
  X: 'Cb Cs BC',
  W: 'Lw Rw',
  L: 'Lt FL',
  R: 'Rt FR',
  C: 'FC',
};
const SPEAKER = table<string>(
  Object.fromEntries(
    Object.entries(SPEAKERS).flatMap(([speaker, names]) => names.split(' ').map((name) => [name, speaker])),
  ),
);

export function layoutOfSpeakers(text: string | undefined): string | undefined {
  const first = text?.split(' / ')[0]?.trim();
  if (first === undefined || first === '') return undefined;
  const speakers = first
    .split(/\s+/)
    .map((speaker) => SPEAKER[speaker] ?? speaker)
    .sort()
    .join(' ');
  return BY_SPEAKERS[speakers];
}

const OTHER = table<string>({ downmix: 'stereo', '4.0': '4.0', '1 channels (c)': 'mono' });
export function layoutOfName(text: string | undefined): string | undefined {
  if (text === undefined || /channels|unknown|^\d+$/.test(text)) return undefined;
  return OTHER[text] ?? text.replace(/\((?:side|back|wide|wide-side|front)\)$/, '');
}
