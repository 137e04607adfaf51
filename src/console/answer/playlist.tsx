/** One playlist of a ladder: its segments against the target, and its lines with what was found in them. */
import { useEffect, useRef } from 'preact/hooks';
import type { HlsReport } from '../../api_types.ts';
import { count, several } from '../parts/figures.ts';
import { Status, Stranger } from '../parts/values.tsx';
import { Empty } from '../parts/states.tsx';
import { Parts } from '../parts/table.tsx';
import { DurationsFigure, durationsOf, durationsSaid } from './durations.tsx';

// The lines of a playlist with their numbers, and the findings beside those that they name.

type Message = HlsReport['messages'][number];

/** Drawn at once: a browser draws this many in a moment. */
const MOST_DRAWN = 500;

const isSegmentLine = (line: string): boolean => line.trim() !== '' && !line.trimStart().startsWith('#');

/** The line of a segment's address, from 1; null: it is not among those that are here. */
function lineOfSegment(lines: readonly string[], index: number): number | null {
  let segment = -1;
  const found = lines.findIndex((line) => isSegmentLine(line) && ++segment === index);
  return found === -1 ? null : found + 1;
}

interface LinesProps {
  url: string;
  lines: readonly string[];
  leftOut: number;
  findings: readonly Message[];
  /** The one that is looked for, from 1; null: none. */
  at: number | null;
  show: (line: number) => void;
}

function PlaylistLines({ url, lines, leftOut, findings, at, show }: LinesProps) {
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    row.current?.scrollIntoView({ block: 'center' });
    row.current?.focus({ preventScroll: true });
  }, [url, at]);
  const part = Math.floor((Math.min(at ?? 1, lines.length) - 1) / MOST_DRAWN);
  const from = part * MOST_DRAWN;
  const choose = (to: number): void => show(to * MOST_DRAWN + 1);
  const byLine = Map.groupBy(findings, ({ line }) => line);
  return (
    <>
      <Parts what="Lines" total={lines.length} most={MOST_DRAWN} part={part} choose={choose} />
      <div class="scroll lines" role="region" aria-label="Lines of the playlist" tabIndex={0}>
        <table>
          <caption class="unseen">Lines of the playlist</caption>
          <thead>
            <tr>
              <th scope="col" class="right">
                Line
              </th>
              <th scope="col">Text and findings</th>
            </tr>
          </thead>
          <tbody>
            {lines.slice(from, from + MOST_DRAWN).map((text, index) => {
              const line = from + index + 1;
              const own = byLine.get(line) ?? [];
              return (
                <tr key={line} ref={line === at ? row : null} class={line === at ? 'at' : undefined} tabIndex={-1}>
                  <th scope="row" class="right">
                    {line}
                  </th>
                  <td>
                    <code>
                      <Stranger text={text} />
                    </code>
                    {own.length > 0 && (
                      <ul class="also">
                        {own.map(({ level, code, message, remedy = '' }) => (
                          <li key={`${code} ${message}`}>
                            <Status of={level} /> <Stranger text={message} /> <span class="unit">{code}</span>{' '}
                            {remedy !== '' && <Stranger text={remedy} />}
                          </li>
                        ))}
                      </ul>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {leftOut > 0 && <p class="unit">{several(leftOut, 'further line')} are not in the report.</p>}
    </>
  );
}

interface ShownPlaylistProps {
  playlist: HlsReport['playlists'][number];
  findings: HlsReport['messages'];
  /** A line that is looked for, from 1. */
  at: number | null;
  show: (line: number) => void;
  again: string;
}

export function ShownPlaylist({ playlist, findings, at, show, again }: ShownPlaylistProps) {
  const durations = durationsOf(playlist);
  // Reports on record from before the lines were in them have none.
  const lines = playlist.text?.lines ?? [];
  const goToSegment = (index: number): void => {
    const line = lineOfSegment(lines, index);
    if (line !== null) show(line);
  };
  return (
    <section class="playlist">
      <h2>
        Playlist <Stranger text={playlist.url} most={120} />
      </h2>
      {durations && (
        <>
          <p>{durationsSaid(durations)}.</p>
          <DurationsFigure durations={durations} goToSegment={lines.length > 0 ? goToSegment : null} />
        </>
      )}
      {lines.length === 0 ? (
        <Empty title="The lines of the playlist are not in this report">
          <p>
            They are sent on request, by <code>enable_playlist_text</code>.{' '}
            <a href={again}>Read again with the lines</a>
          </p>
        </Empty>
      ) : (
        <>
          {at !== null && at > lines.length && (
            <p role="status">
              Line {count(at)} is not in the report: it has the first {count(lines.length)}.
            </p>
          )}
          <PlaylistLines
            url={playlist.url}
            lines={lines}
            leftOut={playlist.text?.left_out ?? 0}
            findings={findings}
            at={at}
            show={show}
          />
        </>
      )}
    </section>
  );
}
