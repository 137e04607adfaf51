/**
 * Intended changes of the tools, per release: what a comparison finds beside them is news. Each was seen in outputs of
 * the versions of the catalog (docs/reports/compare.md); `release` is the first of them that has it. What a build alone
 * decides, and changes of values, are not among them: a reader should look at those.
 */
import type { ReportTool } from '../tools/probe_report.ts';
import type { Change } from './limits.ts';

export interface KnownEntry {
  tool: ReportTool;
  release: string;
  /**
   * Without places in lists, and without `programs[].` in front: `streams[].codec_time_base`. `streams[].disposition.*`
   * is all below.
   */
  paths: readonly string[];
  /** From the older version to the newer one. */
  change: readonly Change[];
  /** The new name, where the field was renamed within its object. */
  to?: string;
  note: string;
}

type Row = [release: string, paths: string, note: string];

const listed = (tool: ReportTool, change: Change, rows: readonly Row[]): KnownEntry[] =>
  rows.map(([release, paths, note]) => ({ tool, release, paths: paths.split(' '), change: [change], note }));

const renamed = (tool: ReportTool, release: string, from: string, to: string): KnownEntry => ({
  ...listed(tool, 'renamed', [[release, from, `Renamed to ${to}.`]])[0]!,
  to,
});

const DOWNMIX =
  'streams[].dmix_mode streams[].ltrt_cmixlev streams[].ltrt_surmixlev streams[].loro_cmixlev ' +
  'streams[].loro_surmixlev';

const added = listed('ffprobe', 'added', [
  ['4.3', 'streams[].closed_captions', 'New: whether the stream carries closed captions.'],
  ['4.4', 'streams[].tags.vendor_id', 'The vendor of an MP4 or MOV track is a tag.'],
  [
    '5.0',
    'streams[].disposition.captions streams[].disposition.descriptions streams[].disposition.metadata ' +
      'streams[].disposition.dependent streams[].disposition.still_image',
    'New dispositions.',
  ],
  ['5.0', 'streams[].id', 'MP4 and MOV tracks show their number, too.'],
  ['5.0', 'streams[].extradata_size', 'New: bytes of codec configuration.'],
  ['5.0', 'streams[].film_grain', 'New: whether the stream carries film grain.'],
  [
    '5.0',
    'streams[].side_data_list[].avg_bitrate streams[].side_data_list[].max_bitrate ' +
      'streams[].side_data_list[].min_bitrate streams[].side_data_list[].buffer_size ' +
      'streams[].side_data_list[].vbv_delay streams[].side_data_list[].service_type',
    'Side data shows its members; before, only its type.',
  ],
  ['6.0', 'streams[].initial_padding', 'New: samples to skip at the beginning.'],
  ['6.0', 'frames[].duration frames[].duration_time', 'New name of pkt_duration; both are printed until 6.1.'],
  ['6.1', 'streams[].disposition.non_diegetic', 'New disposition.'],
  ['6.1', 'streams[].ts_packetsize', 'New: packet size of a transport stream.'],
  ['6.1', 'streams[].missing_streams', 'An option of the FLV demuxer is printed.'],
  ['7.1', 'format.nb_stream_groups', 'New: number of stream groups.'],
  ['7.1', 'streams[].disposition.multilayer', 'New disposition.'],
  ['7.1', 'streams[].ts_id', 'New: transport stream id.'],
  ['7.1', 'streams[].view_ids_available streams[].view_pos_available', 'New: views of multiview HEVC.'],
  ['9.0', 'streams[].mime_codec_string', 'New: the codec as in the `codecs` parameter of RFC 6381.'],
]);

const removed = listed('ffprobe', 'removed', [
  ['4.4', 'streams[].codec_time_base', 'No longer printed; read time_base or avg_frame_rate.'],
  ['4.4', 'streams[].max_bit_rate', 'No longer printed; 5.0 and later have max_bitrate in the CPB side data.'],
  [
    '5.0',
    'programs[].start_pts programs[].start_time programs[].end_pts programs[].end_time',
    'Times of a program are no longer printed; read those of its streams.',
  ],
  ['5.0', DOWNMIX, 'Downmix values of AC-3 are no longer printed; 9.0 prints them again.'],
  [
    '5.0',
    'streams[].tags.rotate',
    'The rotation is in the Display Matrix of side_data_list alone, with its sign turned.',
  ],
  ['9.0', 'streams[].closed_captions streams[].film_grain', 'No longer printed for a stream.'],
  ['9.0', 'streams[].refs', 'No longer printed.'],
  ['9.0', 'streams[].tags.vendor_id', 'A vendor of zeros is no longer a tag.'],
  ['9.0', 'streams[].missing_streams', 'An option of the FLV demuxer is no longer printed.'],
]);

const back = listed('ffprobe', 'added', [['9.0', DOWNMIX, 'Downmix values of AC-3 are printed again.']]);

const mediainfo = [
  ...listed('mediainfo', 'added', [
    ['24.06', 'media.track[].FrameRate_Num media.track[].FrameRate_Den', 'New: the frame rate as a fraction.'],
    ['24.06', 'media.track[].Delay_Source', 'Told of tracks whose delay is 0, too.'],
    ['24.06', 'media.track[].Video_Delay', 'Told of tracks whose delay to the video is 0, too.'],
    ['24.06', 'media.track[].Delay_DropFrame media.track[].Delay_Original_DropFrame', 'Told where it is No, too.'],
    ['24.06', 'media.track[].Events_Total', 'New: number of subtitle events.'],
    ['24.06', 'media.track[].TimeCode_LastFrame', 'New: the last time code.'],
    ['24.06', 'media.track[].extra.ConformanceErrors', 'New: what breaks the rules of the container.'],
    ['26.10', 'media.track[].extra.ConformanceWarnings', 'New: what is unusual in the container.'],
  ]),
  ...listed('mediainfo', 'removed', [
    [
      '24.06',
      'media.track[].StreamSize_Proportion media.track[].Source_StreamSize_Proportion',
      'No longer printed; divide StreamSize by FileSize.',
    ],
  ]),
];

export const KNOWN_CHANGES: readonly KnownEntry[] = [
  ...added,
  ...removed,
  ...back,
  renamed('ffprobe', '5.0', 'frames[].pkt_pts', 'pts'),
  renamed('ffprobe', '5.0', 'frames[].pkt_pts_time', 'pts_time'),
  renamed('ffprobe', '7.1', 'frames[].pkt_duration', 'duration'),
  renamed('ffprobe', '7.1', 'frames[].pkt_duration_time', 'duration_time'),
  renamed('mediainfo', '24.06', 'media.track[].TimeCode_Striped', 'TimeCode_Stripped'),
  ...mediainfo,
];
