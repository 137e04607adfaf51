/** Reads what the printers of the graph write, piece by piece. Holds no more than one line and one block. */
import { SOUND_TICKS, STREAM_KEY, type QcStream } from './graph.ts';
import { LONGEST_LINE, MOST_AUDIO } from './limits.ts';

export type Key = (typeof KEYS)[keyof typeof KEYS] | 'true_peak';

/** What is said of one frame of one stream. */
export interface Block {
  stream: number;
  /** In seconds; null: not known. */
  time: number | null;
  /** It is the first of its chain, again after each change of size or format: filters have begun anew. */
  isFirst: boolean;
  /** Minus infinity is a value: the level of silence. */
  values: ReadonlyMap<Key, number>;
}

/** By what they are of. All other keys are dropped. */
const PICTURE_KEYS = {
  'lavfi.black_start': 'black_start',
  'lavfi.black_end': 'black_end',
  'lavfi.freezedetect.freeze_start': 'freeze_start',
  'lavfi.freezedetect.freeze_end': 'freeze_end',
  'lavfi.idet.multiple.progressive': 'progressive',
  'lavfi.idet.multiple.tff': 'top_first',
  'lavfi.idet.multiple.bff': 'bottom_first',
  'lavfi.idet.single.tff': 'top_single',
  'lavfi.idet.single.bff': 'bottom_single',
  'lavfi.signalstats.YLOW': 'dark',
  'lavfi.signalstats.YHIGH': 'light',
  'lavfi.signalstats.UAVG': 'mean_u',
  'lavfi.signalstats.VAVG': 'mean_v',
  'lavfi.bbox.x1': 'left',
  'lavfi.bbox.x2': 'right',
  'lavfi.bbox.y1': 'top',
  'lavfi.bbox.y2': 'bottom',
} as const;
const SOUND_KEYS = {
  'lavfi.silence_start': 'silence_start',
  'lavfi.silence_end': 'silence_end',
  'lavfi.r128.I': 'integrated',
  'lavfi.r128.LRA': 'range',
  'lavfi.r128.M': 'momentary',
  'lavfi.r128.S': 'short_term',
  'lavfi.astats.Overall.Peak_level': 'sample_peak',
  'lavfi.astats.Overall.RMS_level': 'level',
  'lavfi.astats.Overall.Mean_difference': 'mean_difference',
  'lavfi.astats.Overall.RMS_difference': 'rms_difference',
  'lavfi.astats.Overall.Flat_factor': 'flat_factor',
  'lavfi.astats.Overall.DC_offset': 'dc_offset',
  'lavfi.aphasemeter.phase': 'phase',
  'lavfi.aphasemeter.out_phase_start': 'out_of_phase_start',
  'lavfi.aphasemeter.out_phase_end': 'out_of_phase_end',
} as const;
const KEYS = { ...PICTURE_KEYS, ...SOUND_KEYS };
const TRUE_PEAK = /^lavfi\.r128\.true_peaks_ch\d{1,2}$/;
const HEADER = /^frame:(\d{1,12}) +pts:(\S{1,24}) +pts_time:(\S{1,24})$/;
const PAIR = /^([\w.:-]{1,100})=(.*)$/;
/** What streamhash prints at the end of each output, of its only stream. */
const HASH = /^0,[av],MD5=([0-9a-f]{32})$/;
const INDEX = /^\d{1,6}$/;
const NUMBER = /^-?\d{1,12}(?:\.\d{1,12})?(?:e[+-]?\d{1,2})?$/;

function numberIn(text: string): number | undefined {
  if (text === '-inf') return Number.NEGATIVE_INFINITY;
  return NUMBER.test(text) ? Number(text) : undefined;
}

const keyOf = (name: string): Key | undefined =>
  Object.hasOwn(KEYS, name) ? KEYS[name as keyof typeof KEYS] : TRUE_PEAK.test(name) ? 'true_peak' : undefined;

type Kind = QcStream['type'];
interface Begun extends Omit<Block, 'stream'> {
  values: Map<Key, number>;
}

/** Whether a header is of sound. Undefined: zero is the same in all parts of a second. */
const isOfSound = (ticks: number, time: number): boolean | undefined =>
  ticks === 0 && time === 0 ? undefined : Math.abs(ticks / time / SOUND_TICKS - 1) < 0.01;

/** Lines of pictures and of sound come mixed; those of one kind in turn. */
export function blockReader(checked: readonly QcStream[], onBlock: (block: Block) => void) {
  let [rest, skipping, unread] = ['', false, 0];
  const kinds = new Map(checked.map(({ index, type }) => [index, type]));
  const begun = new Map<Kind, Begun>(
    [...kinds.values()].map((kind) => [kind, { time: null, isFirst: false, values: new Map() }]),
  );
  const hashes = new Map<number, string>();

  const begin = (isFirst: boolean, ticks: number | undefined, time: number | undefined): void => {
    const isKnown = time !== undefined && Number.isFinite(time);
    const ofSound = isKnown ? isOfSound(ticks ?? Number.NaN, time) : undefined;
    for (const [kind, block] of begun) {
      const isIts = begun.size === 1 || ofSound === (kind === 'audio');
      if (isIts) block.values = new Map();
      if (isIts || (ofSound === undefined && block.time === null)) block.isFirst = isFirst;
      // Zero is often the first time; a later one counts as that of the frame before.
      if (isIts || !isKnown || (ofSound === undefined && block.time === null)) block.time = isKnown ? time : null;
    }
  };
  const end = (index: string): void => {
    const stream = INDEX.test(index) ? Number(index) : Number.NaN;
    const kind = kinds.get(stream);
    const block = kind && begun.get(kind);
    if (block) onBlock({ stream, time: block.time, isFirst: block.isFirst, values: block.values });
    for (const one of block ? [block] : begun.values()) one.values = new Map();
  };
  const take = (line: string): void => {
    const header = HEADER.exec(line);
    if (header) return begin(Number(header[1]) === 0, numberIn(header[2]!), numberIn(header[3]!));
    const [, hash] = HASH.exec(line) ?? [];
    const [, name, text] = PAIR.exec(line) ?? [];
    if (hash !== undefined && hashes.size <= MOST_AUDIO) hashes.set(hashes.size, hash);
    else if (name === undefined || text === undefined) unread += 1;
    else if (name === STREAM_KEY) end(text);
    else keep(begun.get(Object.hasOwn(PICTURE_KEYS, name) ? 'video' : 'audio'), name, text);
  };
  /** The rest of a line that is too long is skipped as it comes. */
  const takeParts = (text: string): void => {
    const lines = text.split('\n');
    for (const [at, part] of lines.entries()) {
      const ends = at < lines.length - 1;
      if (!skipping && rest.length + part.length > LONGEST_LINE) {
        [skipping, rest] = [true, ''];
        unread += 1;
      }
      if (!skipping) rest += part;
      if (!ends) continue;
      if (!skipping && rest !== '') take(rest);
      [skipping, rest] = [false, ''];
    }
  };
  return {
    push: (bytes: Buffer): void => takeParts(bytes.toString('latin1')),
    hashes,
    /** Lines that were too long or of no known form. */
    unread: (): number => unread,
  };
}

function keep(begun: Begun | undefined, name: string, text: string): void {
  const [key, value] = [keyOf(name), numberIn(text)];
  if (!begun || key === undefined || value === undefined) return;
  const before = key === 'true_peak' ? begun.values.get(key) : undefined;
  begun.values.set(key, before === undefined ? value : Math.max(before, value));
}
