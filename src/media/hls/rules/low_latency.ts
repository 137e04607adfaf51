/** Rules for partial segments, preload hints, and declared server capabilities. */
import { has, isLive, lineOf, number, tagsOf, text, type Part, type Playlist } from '../playlist.ts';
import { info, must, should, type Rule } from '../rule.ts';
import { judgeAddress } from './address.ts';
import type { Note } from './catalog.ts';

export const LOW_LATENCY_RULES = {
  'part-inf-missing': must('4.4.3.7')`A playlist with parts has no EXT-X-PART-INF.
    Add EXT-X-PART-INF with PART-TARGET.`,
  'part-long': must('4.4.4.9')`A part is longer than the part target duration.
    Raise PART-TARGET, or cut shorter parts.`,
  'part-short': must('4.4.4.9')`A part that does not end its segment is shorter than 85 % of the part target duration.
    Cut parts of equal length; only the last of a segment may be shorter.`,
  'part-sum': should('4.4.4.9')`The parts of a segment do not last as long as the segment.
    List all parts of the segment with their real durations.`,
  'part-independent': should('4.4.4.9')`
    No part of a segment is marked INDEPENDENT=YES, although segments are independent.
    Mark the part that begins with a key frame.`,
  'part-old': should('6.2.2')`Parts are listed more than three target durations from the end.
    Drop parts that are older than three target durations.`,
  'part-ended': info('6.2.2')`A playlist that has ended lists parts. Leave parts out once the stream has ended.`,
  'part-target-long': must('4.4.3.7')`The part target duration is above the target duration.
    Lower PART-TARGET below the target duration.`,
  'hold-back': must('4.4.3.8')`HOLD-BACK is below three target durations. Raise HOLD-BACK to three target durations.`,
  'part-hold-back-missing': must('4.4.3.8')`A playlist with EXT-X-PART-INF has no PART-HOLD-BACK.
    Add PART-HOLD-BACK, three times PART-TARGET.`,
  'part-hold-back': must('4.4.3.8')`PART-HOLD-BACK is below two part target durations.
    Raise PART-HOLD-BACK to three times PART-TARGET.`,
  'part-hold-back-short': should('4.4.3.8')`PART-HOLD-BACK is below three part target durations.
    Raise PART-HOLD-BACK to three times PART-TARGET.`,
  'skip-until': must('4.4.3.8')`CAN-SKIP-UNTIL is below six target durations.
    Raise CAN-SKIP-UNTIL to six target durations.`,
  'skip-dateranges': must('4.4.3.8')`CAN-SKIP-DATERANGES is given without CAN-SKIP-UNTIL. Add CAN-SKIP-UNTIL.`,
  'block-reload': must('B.1')`A low-latency playlist does not declare CAN-BLOCK-RELOAD=YES.
    Turn on blocking reloads and write CAN-BLOCK-RELOAD=YES.`,
  'delta-unsupported': should('B.1')`A low-latency playlist offers no delta updates.
    Turn on delta updates and write CAN-SKIP-UNTIL.`,
  'low-latency-date': should('B.1')`A low-latency playlist has no EXT-X-PROGRAM-DATE-TIME.
    Add EXT-X-PROGRAM-DATE-TIME.`,
  'preload-hint-missing': should('B.1')`A live low-latency playlist does not announce its next part.
    Add EXT-X-PRELOAD-HINT for the next part.`,
  'preload-hint-double': must('4.4.5.3')`There is more than one hint of a type. Keep one hint of each type.`,
  'preload-hint-ended': must('4.4.5.3')`A playlist that has ended announces a part or an init section.
    Remove the hint from a playlist that has ended.`,
  'report-uri': must('4.4.5.4')`The address of a rendition report is not relative to the playlist.
    Write the address relative to the playlist.`,
  'skip-unasked': must('4.4.5.2')`EXT-X-SKIP was sent to a client that did not request it.
    Send EXT-X-SKIP only for _HLS_skip, and cache the two apart.`,
} satisfies Record<string, Rule>;

/** Tolerance, because figures are printed with a limited number of decimals. */
const NEAR = 0.0015;

export function judgeLowLatency(playlist: Playlist, note: Note): void {
  const { partTarget, targetDuration = 0 } = playlist;
  const [server] = tagsOf(playlist, 'EXT-X-SERVER-CONTROL');
  if (server !== undefined) {
    const holdBack = number(server, 'HOLD-BACK');
    const skip = number(server, 'CAN-SKIP-UNTIL');
    if (holdBack !== undefined && holdBack < 3 * targetDuration)
      note('hold-back', server.line, `${holdBack} s in place of ${3 * targetDuration} s`);
    if (skip !== undefined && skip < 6 * targetDuration)
      note('skip-until', server.line, `${skip} s in place of ${6 * targetDuration} s`);
    if (skip === undefined && server.attributes.has('CAN-SKIP-DATERANGES')) note('skip-dateranges', server.line);
  }
  if (has(playlist, 'EXT-X-SKIP')) note('skip-unasked', lineOf(playlist, 'EXT-X-SKIP'));
  for (const report of tagsOf(playlist, 'EXT-X-RENDITION-REPORT'))
    if (/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(text(report, 'URI') ?? '')) note('report-uri', report.line);
  const hints = tagsOf(playlist, 'EXT-X-PRELOAD-HINT');
  const types = new Set<string | undefined>();
  for (const hint of hints) {
    judgeAddress(text(hint, 'URI') ?? '', playlist.base, hint.line, note);
    const type = text(hint, 'TYPE');
    if (types.has(type)) note('preload-hint-double', hint.line);
    types.add(type);
  }
  if (playlist.ended && hints.length > 0) note('preload-hint-ended', hints[0]?.line ?? 1);

  const hasParts = has(playlist, 'EXT-X-PART');
  if (hasParts && !has(playlist, 'EXT-X-PART-INF')) note('part-inf-missing', lineOf(playlist, 'EXT-X-PART'));
  if (partTarget === undefined) return;
  const where = lineOf(playlist, 'EXT-X-PART-INF');
  if (targetDuration > 0 && partTarget > targetDuration)
    note('part-target-long', where, `${partTarget} s, and the target duration is ${targetDuration} s`);
  const partHoldBack = server && number(server, 'PART-HOLD-BACK');
  if (partHoldBack === undefined) note('part-hold-back-missing', server?.line ?? where);
  else if (partHoldBack < 2 * partTarget)
    note('part-hold-back', server?.line ?? where, `${partHoldBack} s in place of ${2 * partTarget} s`);
  else if (partHoldBack < 3 * partTarget)
    note(
      'part-hold-back-short',
      server?.line ?? where,
      `${partHoldBack} s in place of ${Number((3 * partTarget).toFixed(3))} s`,
    );
  for (const { parts, duration, infLine } of playlist.segments)
    if (parts.length > 0) judgeParts(parts, partTarget, playlist, note, { duration, line: infLine });
  judgeParts(playlist.openParts, partTarget, playlist, note);
  if (!isLive(playlist)) {
    if (hasParts) note('part-ended', lineOf(playlist, 'EXT-X-PART'));
    return;
  }
  if (!hasParts) return;
  if (server === undefined || text(server, 'CAN-BLOCK-RELOAD') !== 'YES') note('block-reload', server?.line ?? where);
  if (server === undefined || !server.attributes.has('CAN-SKIP-UNTIL'))
    note('delta-unsupported', server?.line ?? where);
  if (!has(playlist, 'EXT-X-PROGRAM-DATE-TIME')) note('low-latency-date', where);
  if (!hints.some((hint) => text(hint, 'TYPE') === 'PART')) note('preload-hint-missing', playlist.lines);
  let after = playlist.openParts.reduce((sum, { duration }) => sum + duration, 0);
  for (const segment of playlist.segments.toReversed()) {
    if (after > 3 * targetDuration) {
      if (segment.parts.length === 0) continue;
      note('part-old', segment.parts[0]?.line ?? 1, `${after.toFixed(1)} s from the end`);
      break;
    }
    after += segment.duration;
  }
}

function judgeParts(
  parts: readonly Part[],
  target: number,
  playlist: Playlist,
  note: Note,
  segment?: { duration: number; line: number },
): void {
  let sum = 0;
  for (const [index, part] of parts.entries()) {
    sum += part.duration;
    judgeAddress(part.uri, playlist.base, part.line, note);
    const compared = `${part.duration} s, and PART-TARGET is ${target} s`;
    if (part.duration > target + NEAR) note('part-long', part.line, compared);
    // The latest part of an incomplete segment may be its last.
    else if (!part.gap && index < parts.length - 1 && part.duration < 0.85 * target - NEAR)
      note('part-short', part.line, compared);
  }
  if (segment === undefined) return;
  if (Math.abs(sum - segment.duration) > Math.max(0.1, parts.length * NEAR))
    note('part-sum', segment.line, `${Number(sum.toFixed(3))} s, and the segment has ${segment.duration} s`);
  if (has(playlist, 'EXT-X-INDEPENDENT-SEGMENTS') && !parts.some(({ independent }) => independent))
    note('part-independent', parts[0]?.line ?? segment.line);
}
