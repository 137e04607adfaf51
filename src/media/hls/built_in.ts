/**
 * The validator as a tool: it is built in and has no image of its own, so it is always available. It measures segments
 * with the newest ffprobe in the cluster. Without one it only checks playlists, and reports that.
 */
import { byNewest } from '../../base/version_order.ts';

export interface ToolOfCluster {
  tool: string;
  version: string;
  command: string[];
}

/** The runner puts the program in its place. */
export const HLS_PROGRAM = '{app}/hls/main.ts';

/** Passes the program the command that measures segments, as JSON. */
export const PROBE_OPTION = '--ffprobe';

/** `{tools}` is the folder of all tools in the tools container. `uses`: tools that it needs, as `tool/version`. */
export function builtInMsv(tools: readonly ToolOfCluster[]) {
  const [ffprobe] = tools.filter(({ tool }) => tool === 'ffprobe').sort((a, b) => byNewest(a.version, b.version));
  const inTools = ffprobe?.command.map((part) => part.replaceAll('{root}', `{tools}/ffprobe/${ffprobe.version}`));
  return {
    tool: 'msv' as const,
    version: HLS_VERSION,
    latest: true as const,
    command: [
      '{node}',
      '--max-old-space-size=640',
      HLS_PROGRAM,
      ...(inTools ? [`${PROBE_OPTION}=${JSON.stringify(inTools)}`] : []),
    ],
    uses: ffprobe ? [`ffprobe/${ffprobe.version}`] : [],
  };
}

/** Name and version of the validator. */
export const HLS_TOOL = 'probeyard-hls';
export const HLS_VERSION = '1.0.0';
/** The reference validator whose interface the report replaces. */
export const REFERENCE_VERSION = '1.24.5 (686.23b-241118)';
