/** One playlist of a ladder: its segments against the target, and its lines with what was found in them. */
import type { HlsReport } from '../../api_types.ts';
import { count } from '../parts/figures.ts';
import { Empty } from '../parts/states.tsx';
import { Stranger } from '../parts/stranger.tsx';
import { DurationsFigure, durationsSaid } from './durations.tsx';
import { durationsOf } from './durations_scale.ts';
import { lineOfSegment, PlaylistLines } from './playlist_lines.tsx';

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
