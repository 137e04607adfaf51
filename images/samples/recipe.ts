/**
 * How each sample of src/service/samples/list.ts is made by ffmpeg, from its own test picture and tones. Bytes depend
 * on the version of ffmpeg alone: one thread, no dates, no random numbers.
 */

const SECONDS = 2;
const words = (text: string): string[] => text.split(' ');
const picture = (size = '320x180', rate = '25'): string[] => [
  '-f',
  'lavfi',
  '-i',
  `testsrc2=size=${size}:rate=${rate}:duration=${SECONDS}`,
];
const tone = (hertz = 440, rate = 48_000): string[] => [
  '-f',
  'lavfi',
  '-i',
  `sine=frequency=${hertz}:sample_rate=${rate}:duration=${SECONDS}`,
];
const H264 = words('-c:v libx264 -preset veryfast -crf 30 -g 25 -pix_fmt yuv420p');
const HEVC = words('-c:v libx265 -preset veryfast -crf 32 -tag:v hvc1');
const X265 = 'log-level=error:pools=none:frame-threads=1:info=0';
const AAC = words('-c:a aac -b:a 64k');
const MPEG2 = words('-c:v mpeg2video -b:v 1M -g 12');
const STEREO = words('-ac 2');
const FIRST = words('-movflags +faststart');
/** Six tones, one for each loudspeaker. */
const SURROUND = [
  '-f',
  'lavfi',
  '-i',
  `aevalsrc=${[220, 330, 440, 55, 550, 660].map((hertz) => `0.2*sin(${hertz}*2*PI*t)`).join('|')}` +
    `:channel_layout=5.1:sample_rate=48000:duration=${SECONDS}`,
];
const HDR10 = [
  X265,
  'hdr10=1',
  // Without these libx265 writes no colour into the stream, whatever the options of ffmpeg say.
  'colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc',
  'repeat-headers=1',
  'master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)',
  'max-cll=1000,400',
].join(':');
const BT2020 = words('-color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc');

/** Files that ffmpeg reads beside its own pictures and tones. */
export const INPUTS: Readonly<Record<string, string>> = {
  'subtitles.srt': '1\n00:00:00,200 --> 00:00:00,900\nHello\n\n2\n00:00:01,100 --> 00:00:01,800\nAgain\n',
  'chapters.txt': [
    ';FFMETADATA1',
    ...[
      ['One', 0, 1000],
      ['Two', 1000, 2000],
    ].flatMap(([title, start, end]) => [
      '[CHAPTER]',
      'TIMEBASE=1/1000',
      `START=${start}`,
      `END=${end}`,
      `title=${title}`,
    ]),
    '',
  ].join('\n'),
};

/** By path of the sample: arguments of ffmpeg before the name of its output. */
export const ENCODED: Readonly<Record<string, readonly string[]>> = {
  'c2pa/unsigned.jpg': [...picture(), ...words('-frames:v 1 -c:v mjpeg -pix_fmt yuvj420p -q:v 5')],
  'h264-plain.mp4': [...picture(), ...H264, ...FIRST],
  'h264-aac.mp4': [...picture(), ...tone(), ...H264, ...AAC, ...FIRST],
  'h264-aac-index-last.mp4': [...picture(), ...tone(), ...H264, ...AAC],
  'h264-aac-fragmented.mp4': [
    ...picture(),
    ...tone(),
    ...H264,
    ...AAC,
    ...words('-movflags +frag_keyframe+empty_moov+default_base_moof'),
  ],
  'h264-anamorphic.mp4': [...picture('352x288'), ...words('-vf setsar=16/11'), ...H264, ...FIRST],
  'h264-variable-rate.mp4': [
    ...picture(),
    '-vf',
    "select='not(eq(mod(n,7),3)+eq(mod(n,11),5)+eq(mod(n,11),6))'",
    ...words('-fps_mode vfr'),
    ...H264,
    ...FIRST,
  ],
  'h264-surround.mp4': [...picture(), ...SURROUND, ...H264, ...words('-c:a aac -b:a 192k'), ...FIRST],
  'hevc-aac.mp4': [...picture(), ...tone(), ...HEVC, ...words('-pix_fmt yuv420p -x265-params'), X265, ...AAC, ...FIRST],
  'hevc-hdr10.mp4': [
    ...picture(),
    ...HEVC,
    ...words('-pix_fmt yuv420p10le'),
    ...BT2020,
    '-x265-params',
    HDR10,
    ...FIRST,
  ],
  'av1-opus.mp4': [
    ...picture(),
    ...tone(),
    ...words('-c:v libaom-av1 -cpu-used 8 -crf 45 -b:v 0 -row-mt 0'),
    ...words('-pix_fmt yuv420p -c:a libopus -b:a 48k'),
    ...FIRST,
  ],
  'prores-pcm.mov': [
    ...picture(),
    ...tone(),
    ...words('-c:v prores_ks -profile:v hq -vendor apl0'),
    ...words('-pix_fmt yuv422p10le -c:a pcm_s24le -timecode 01:00:00:00'),
  ],
  'h264-two-languages.mkv': [
    ...picture(),
    ...tone(),
    ...tone(330),
    ...words('-i subtitles.srt -f ffmetadata -i chapters.txt'),
    ...words('-map 0 -map 1 -map 2 -map 3 -map_chapters 4'),
    ...H264,
    ...AAC,
    ...words('-c:s subrip'),
    ...['eng', 'fra'].flatMap((language, index) => [`-metadata:s:a:${index}`, `language=${language}`]),
    ...words('-metadata:s:s:0 language=eng'),
  ],
  'ffv1-flac.mkv': [
    ...picture('160x120'),
    ...tone(),
    ...words('-c:v ffv1 -level 3 -g 1 -slices 4 -slicecrc 1'),
    ...words('-pix_fmt yuv422p -c:a flac'),
  ],
  'vp9-opus.webm': [
    ...picture(),
    ...tone(),
    ...words('-c:v libvpx-vp9 -deadline good -cpu-used 4 -b:v 200k'),
    ...words('-pix_fmt yuv420p -c:a libopus -b:a 48k'),
  ],
  'vp8-vorbis.webm': [
    ...picture(),
    ...tone(),
    ...words('-c:v libvpx -deadline good -cpu-used 4 -b:v 200k'),
    ...words('-pix_fmt yuv420p'),
    ...STEREO,
    ...words('-c:a vorbis -strict -2'),
  ],
  'mpeg2-interlaced.ts': [
    ...picture('352x288'),
    ...tone(),
    ...words('-vf setfield=tff'),
    ...MPEG2,
    ...words('-flags:v +ildct+ilme'),
    ...words('-pix_fmt yuv420p -c:a mp2 -b:a 128k -f mpegts'),
  ],
  'mpeg2-ac3.mpg': [
    ...picture('352x288'),
    ...tone(),
    ...MPEG2,
    ...words('-pix_fmt yuv420p'),
    ...STEREO,
    ...words('-c:a ac3 -b:a 128k'),
    ...words('-f vob'),
  ],
  'mpeg2-pcm.mxf': [
    ...picture('352x288'),
    ...tone(),
    ...MPEG2,
    ...words('-pix_fmt yuv422p -c:a pcm_s16le'),
    ...words('-timecode 01:00:00:00 -f mxf'),
  ],
  'mpeg4-mp3.avi': [...picture(), ...tone(), ...words('-c:v mpeg4 -b:v 300k -c:a libmp3lame -b:a 64k')],
  'h264-aac.flv': [...picture(), ...tone(), ...H264, ...AAC],

  'pcm.wav': [...tone(), ...words('-c:a pcm_s24le')],
  'flac.flac': [...tone(), ...STEREO, ...words('-c:a flac')],
  'mp3-cover.mp3': [
    ...tone(440, 44_100),
    ...words('-i c2pa/unsigned.jpg -map 0 -map 1 -c:v copy'),
    ...STEREO,
    ...words('-c:a libmp3lame -b:a 96k -metadata'),
    'title=A tone',
    ...words('-metadata artist=Nobody'),
    '-metadata:s:v',
    'title=Album cover',
    '-metadata:s:v',
    'comment=Cover (front)',
    ...words('-disposition:v attached_pic -id3v2_version 3'),
  ],
  'opus.ogg': [...tone(), ...STEREO, ...words('-c:a libopus -b:a 64k -serial_offset 1')],
  'aac.m4a': [...tone(440, 44_100), ...STEREO, ...AAC, ...FIRST],
  'alac.m4a': [...tone(440, 44_100), ...STEREO, ...words('-c:a alac'), ...FIRST],
  'ac3.ac3': [...SURROUND, ...words('-c:a ac3 -b:a 384k')],
};

const LONG = '8';
const longPicture = (size: string): string[] => ['-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=25:duration=${LONG}`];
const longTone = ['-f', 'lavfi', '-i', `sine=frequency=440:sample_rate=48000:duration=${LONG}`];
const EVERY_TWO = words('-force_key_frames expr:gte(t,n_forced*2) -sc_threshold 0');
const rate = (index: number, kbit: number): string[] => [
  `-b:v:${index}`,
  `${kbit}k`,
  `-maxrate:v:${index}`,
  `${kbit}k`,
  `-bufsize:v:${index}`,
  `${2 * kbit}k`,
];
const LADDER = [
  ...longPicture('320x180'),
  ...longPicture('640x360'),
  ...longTone,
  ...words('-map 0 -map 1 -map 2'),
  ...words('-c:v libx264 -preset veryfast -pix_fmt yuv420p -profile:v main'),
  ...EVERY_TWO,
  ...rate(0, 200),
  ...rate(1, 500),
  ...AAC,
  ...STEREO,
];

/** By folder: arguments of ffmpeg with the name of its output, run in that folder. */
export const PACKAGED: Readonly<Record<string, readonly string[]>> = {
  hls: [
    ...LADDER,
    ...words('-f hls -hls_time 2 -hls_playlist_type vod -hls_segment_type fmp4'),
    ...words('-hls_flags independent_segments -master_pl_name main.m3u8'),
    '-var_stream_map',
    'v:0,agroup:sound,name:low v:1,agroup:sound,name:high a:0,agroup:sound,name:sound',
    ...words('-hls_fmp4_init_filename init.mp4 -hls_segment_filename %v/%d.m4s %v/index.m3u8'),
  ],
  dash: [
    ...LADDER,
    ...words('-f dash -seg_duration 2 -use_template 1 -use_timeline 0'),
    ...words('-init_seg_name $RepresentationID$-init.mp4 -media_seg_name $RepresentationID$-$Number$.m4s'),
    '-adaptation_sets',
    'id=0,streams=v id=1,streams=a',
    'manifest.mpd',
  ],
};
