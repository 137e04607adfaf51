/** Whether a tool has read the source, and which parts of it. */
import type { Row } from './matrix.ts';
import type { Answered, Outcome } from './real_runner.ts';

/** The fault in a tool's output, or undefined. */
export function wrongWith(row: Row, url: string, outcome: Outcome): string | undefined {
  if (!outcome.success) return outcome.error ?? 'failed without a word';
  const said = JSON.parse(outcome.output) as {
    format?: { filename: string };
    streams?: { codec_name: string }[];
    media?: { '@ref': string; track: { '@type': string; Format: string }[] };
  };
  const shown = row.shown(url);
  if (outcome.tool === 'ffprobe') {
    if (!said.streams?.some(({ codec_name }) => codec_name === (row.codec ?? 'h264'))) return 'no video';
    return said.format?.filename === shown ? undefined : `shows ${said.format?.filename}`;
  }
  const video = said.media?.track.find(({ '@type': type }) => type === 'Video');
  if (video?.Format !== (row.codec === 'hevc' ? 'HEVC' : 'AVC')) return 'no video';
  const ref = said.media?.['@ref'];
  return ref === undefined || ref === '' || ref === shown ? undefined : `shows ${ref}`;
}

/** The secrets that appear anywhere in the outcome of a job. */
export const seen = (answered: Answered, secrets: readonly string[]): string[] => {
  const text = JSON.stringify([answered.tools, answered.source, answered.log]);
  return secrets.filter((secret) => text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1)));
};
