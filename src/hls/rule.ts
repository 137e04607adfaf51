/** What a rule is, and how what breaks it is noted. */

/**
 * must-fix: the specification demands it, or players fail. should-fix: the specification recommends it, or some players
 * fail. info: worth knowing, and often intended.
 */
export const LEVELS = ['must-fix', 'should-fix', 'info'] as const;
export type Level = (typeof LEVELS)[number];

/** Playlists by the name under which each is fetched; the first is the source. A list: how it reads on each reload. */
export type Example = Record<string, string | string[]>;

export interface Rule {
  level: Level;
  /**
   * A section of the HLS specification's second edition (draft-pantos-hls-rfc8216bis), a chapter of Apple's authoring
   * specification, or `own` where neither asks for it.
   */
  clause: string;
  /** What it requires. */
  text: string;
  /**
   * Breaks it. Undefined where it takes more than playlists to break it: the tests do so with real segments or hosts.
   */
  bad: Example | undefined;
  good: Example | undefined;
}

/** Notes that one of these rules is broken; `detail` says by what. */
export type NoteOf<Id extends string> = (rule: Id, line: number, detail?: string, column?: number) => void;

const APPLE = 'Apple authoring, ';

const rule =
  (level: Level) =>
  (clause: string, text: string, bad?: Example | string, good?: Example | string): Rule => ({
    level,
    clause: clauseOf(clause),
    text,
    bad: exampleOf(bad),
    good: exampleOf(good),
  });

const clauseOf = (clause: string): string =>
  clause === 'own' ? 'Probeyard' : `${/^\d|^[A-D]\./.test(clause) ? 'rfc8216bis ' : APPLE}${clause}`;

const exampleOf = (example: Example | string | undefined): Example | undefined =>
  typeof example === 'string'
    ? {
        [example.includes('#EXT-X-STREAM-INF') || example.includes('#EXT-X-MEDIA:') ? 'main.m3u8' : 'media.m3u8']:
          example,
      }
    : example;

export const must = rule('must-fix');
export const should = rule('should-fix');
export const info = rule('info');

/** Something quoted from a playlist, short and on one line. */
export function quote(text: string): string {
  const plain = text
    .slice(0, 80)
    // oxlint-disable-next-line no-control-regex
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '?')
    .toWellFormed();
  return `"${plain}${text.length > 80 ? '…' : ''}"`;
}
