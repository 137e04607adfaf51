/** Formats as named in CODECS (RFC 6381). */

/** The words of a comma-separated list. */
export const words = (list: string | undefined): string[] =>
  (list ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

const VIDEO = /^(avc[1-4]|hvc1|hev1|dvh1|dvhe|dva1|dvav|dav1|av01|vp08|vp09|mp4v|mjpg|jpeg|apv1|vvc1|vvi1)(\.|$)/;
const AUDIO =
  /^(mp4a|ac-3|ec-3|ac-4|alac|fLaC|flac|Opus|opus|mha1|mhm1|dtsc|dtse|dtsh|dtsl|dtsx|usac|iamf|apac|samr)(\.|$)/;

export const isVideoCodec = (codec: string): boolean => VIDEO.test(codec);
export const isAudioCodec = (codec: string): boolean => AUDIO.test(codec);
/** Formats that are always high dynamic range, as far as their names tell. */
export const isHdrOnly = (codec: string): boolean => /^(dvh1|dvhe|dav1)\.(05|10)\./.test(codec);

const FORMS: readonly [RegExp, RegExp][] = [
  [/^avc[1-4]$/, /^avc[1-4](\.[0-9A-Fa-f]{6})?$/],
  [/^(hvc1|hev1)$/, /^(hvc1|hev1)(\.[ABC]?\d{1,2}\.[0-9A-Fa-f]{1,8}\.[LH]\d{1,3}(\.[0-9A-Fa-f]{1,2}){0,6})?$/],
  [/^(dvh1|dvhe|dav1|dva1|dvav)$/, /^\w{4}\.\d{2}\.\d{2}$/],
  [/^av01$/, /^av01\.\d\.\d{2}[MH]\.\d{2}(\.\d(\.\d{3}(\.\d{2}\.\d{2}\.\d{2}\.\d)?)?)?$/],
  [/^mp4a$/, /^mp4a(\.[0-9A-Fa-f]{2}(\.\d{1,2})?)?$/],
];

export interface CodecProblem {
  codec: string;
  /* An obsolete form that is still understood. */ old: boolean;
}

export function codecProblems(list: string): CodecProblem[] {
  return list.split(',').flatMap((raw): CodecProblem[] => {
    const codec = raw.trim();
    if (/^avc1\.\d{2,3}\.\d{1,2}$/.test(codec)) return [{ codec, old: true }];
    const first = codec.split('.')[0] ?? '';
    if (!/^[A-Za-z0-9+-]{4}$/.test(first) && !/^(opus|flac|vp8|vp9)$/i.test(first)) return [{ codec, old: false }];
    const form = FORMS.find(([name]) => name.test(first));
    return form !== undefined && !form[1].test(codec) ? [{ codec, old: false }] : [];
  });
}
