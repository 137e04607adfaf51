/**
 * Command lines of ffprobe in the shapes that documentation of wrappers and answers to questions have, and a seeded
 * generator of their variants. `S` stands for the source.
 */

/** Each is understood. */
const SHAPES = [
  'S',
  '-i S',
  '-hide_banner S',
  '-hide_banner -i S',
  '-show_format S',
  '-show_streams S',
  '-show_format -show_streams S',
  '-i S -show_format -show_streams',
  '-i S -show_streams -v quiet -of json',
  '-v quiet -print_format json -show_format -show_streams S',
  '-v quiet -print_format json -show_format -show_streams -show_chapters S',
  '-v quiet -print_format json -show_format -show_streams -show_error S',
  '-v quiet -of json -show_programs S',
  '-v error -print_format json -show_format -show_streams -i S',
  '-v error -of json -show_streams -show_format -show_error S',
  '-v warning -of json -show_streams S',
  '-v fatal -of json -show_format S',
  '-v 0 -of json -show_format S',
  '-v panic -show_format S',
  '-loglevel quiet -of xml -show_format -show_streams S',
  '-loglevel error -of xml=q=1 -show_format S',
  '-loglevel error -of json=compact=1 -show_streams S',
  '-loglevel error -of json=c=1 -show_format -show_streams S',
  '-loglevel repeat+level+error -of json -show_format S',
  '-v error -show_entries format=duration -of default=noprint_wrappers=1:nokey=1 S',
  '-v error -show_entries format=duration -of default=nw=1:nk=1 -i S',
  '-v error -show_entries format=duration -of default=nokey=1:noprint_wrappers=1 -sexagesimal S',
  '-i S -show_entries format=duration -v quiet -of csv=p=0',
  '-v quiet -show_entries format=duration -of csv=print_section=0 -i S',
  '-v quiet -show_entries format=size -of csv=p=0 S',
  '-v quiet -show_entries format=bit_rate -of default=nk=1:nw=1 S',
  '-v error -show_entries format=format_name -of csv=p=0 S',
  '-v error -show_entries format=nb_streams -of default=nw=1:nk=1 S',
  '-v error -show_entries format=duration,size,bit_rate -of json S',
  '-v error -show_entries format_tags=title -of default=nw=1:nk=1 S',
  '-v error -show_entries format_tags -of json S',
  '-v error -show_entries format=duration:format_tags=title,artist -of flat S',
  '-v error -show_entries stream=codec_type -of csv=p=0 S',
  '-v error -show_entries stream=index,codec_name,codec_type -of compact=p=0:nk=1 S',
  '-v error -show_entries stream=index,codec_name,codec_type -of csv S',
  '-v error -show_entries stream=index:stream_tags=language -of csv=p=0 S',
  '-v error -show_entries stream=index:stream_tags=language,title -select_streams s -of csv=p=0 S',
  '-v error -show_entries stream_tags=rotate -of default=nw=1:nk=1 S',
  '-v error -show_entries stream_disposition=default -of json S',
  '-v error -show_entries stream=width,height:stream_side_data=rotation -of json S',
  '-v error -select_streams v:0 -show_entries stream=codec_name -of default=noprint_wrappers=1:nokey=1 S',
  '-v error -select_streams v:0 -show_entries stream=width,height -of csv=s=x:p=0 S',
  '-v error -select_streams v:0 -show_entries stream=width,height -of csv=p=0:s=x S',
  '-v error -select_streams v:0 -show_entries stream=width,height -of json S',
  '-v error -select_streams v:0 -show_entries stream=height,width -of flat=s=_ S',
  '-v error -of flat=s=_:h=0 -select_streams v:0 -show_entries stream=r_frame_rate S',
  '-v error -select_streams v -of default=nw=1:nk=1 -show_entries stream=r_frame_rate S',
  '-v 0 -of csv=p=0 -select_streams v:0 -show_entries stream=r_frame_rate S',
  '-v 0 -of compact=p=0 -select_streams V:0 -show_entries stream=avg_frame_rate,nb_frames S',
  '-v error -select_streams v:0 -show_entries stream=pix_fmt,color_space,color_transfer,color_primaries -of json S',
  '-v error -select_streams v:0 -show_entries stream=bit_rate -of default=nw=1:nk=1 S',
  '-v error -select_streams v:0 -show_entries stream=duration,start_time -of ini S',
  '-v error -select_streams v:0 -show_entries stream=sample_aspect_ratio,display_aspect_ratio -of json=c=1 S',
  '-v error -select_streams a:0 -show_entries stream=codec_name,sample_rate,channels,channel_layout -of json S',
  '-v error -select_streams a -show_entries stream=index -of csv=p=0 S',
  '-v error -select_streams a:0 -show_entries stream=channels -of compact=p=0:nk=1 S',
  '-v error -select_streams a:m:language:eng -show_entries stream=index -of csv=p=0 S',
  '-v error -select_streams s -show_entries stream=index,codec_name -of csv=p=0 S',
  '-v error -select_streams v:0 -show_streams -of default=nw=1 S',
  '-select_streams v:0 -show_streams S',
  '-v error -count_frames -select_streams v:0 -show_entries stream=nb_read_frames -of default=nk=1:nw=1 S',
  '-v error -count_packets -select_streams v:0 -show_entries stream=nb_read_packets -of csv=p=0 S',
  '-v error -select_streams v:0 -count_packets -show_entries stream=nb_read_packets -print_format csv S',
  '-v error -select_streams v -show_entries frame=pict_type -of csv=p=0 S',
  '-v error -select_streams v -show_entries frame=pts_time,pict_type -of csv=print_section=0 S',
  '-v error -select_streams v -show_frames -show_entries frame=pict_type -of csv S',
  '-v error -select_streams v -skip_frame nokey -show_entries frame=pts_time -of csv=p=0 S',
  '-v error -skip_frame nokey -select_streams v:0 -show_frames -show_entries frame=pict_type -of default=nw=1:nk=1 S',
  '-v error -select_streams v:0 -show_entries packet=pts_time,flags -of csv=p=0 S',
  '-v error -select_streams v:0 -show_packets -show_entries packet=pts_time,size -of compact=p=0 S',
  '-v error -show_packets -select_streams a -of json S',
  '-v error -show_entries packet=size -select_streams v:0 -read_intervals %+2 -of default=nk=1:nw=1 S',
  '-v error -show_frames -select_streams v:0 -read_intervals %+#1 -of json S',
  '-v error -show_frames -read_intervals %+#5 -of compact S',
  '-v error -show_entries frame=side_data_list -read_intervals %+#1 -select_streams v:0 -of json S',
  '-v error -select_streams v:0 -show_entries frame=color_space,side_data -read_intervals %+#1 -of json S',
  '-v quiet -show_frames -show_data_hash md5 -select_streams a -read_intervals %+#2 -of json S',
  '-v error -show_chapters -of json S',
  '-v error -print_format json -show_chapters -show_entries chapter=start_time,end_time:chapter_tags=title S',
  '-pretty -show_format S',
  '-v error -pretty -print_format json -show_format -show_streams S',
  '-unit -prefix -show_format S',
  '-v error -sexagesimal -show_entries format=duration -of default=nw=1:nk=1 S',
  '-v quiet -byte_binary_prefix -prefix -unit -show_entries format=size S',
  '-v quiet -analyzeduration 100M -probesize 100M -print_format json -show_streams S',
  '-analyzeduration 2147483647 -probesize 2147483647 -v quiet -of json -show_format -show_streams S',
  '-v error -probesize 5000000 -analyzeduration 5000000 -show_streams -of json S',
  '-v error -fflags +genpts -show_format -of json S',
  '-v error -err_detect explode -show_streams -of json S',
  '-v error -threads 1 -show_streams -of json S',
  '-v error -show_private_data -show_streams -of json S',
  '-v error -bitexact -show_format -of json S',
  '-v error -show_format -show_entries stream=codec_name -of json S',
  '-v error -show_entries stream=codec_name -show_entries format=duration -of json S',
  '-v error -show_streams -of compact=nk=1:p=0:e=csv S',
  '-v error -show_streams -of csv=nk=0 S',
  '-v error -show_format -of default=nw=1:sv=replace S',
  '-v error -o - -show_format S',
  '-v error -show_streams -show_format -show_library_versions -of json S',
];

/** Each is refused, with the flag that is the reason. */
export const REFUSED: readonly [line: string, flag: string][] = [
  ['-f lavfi S', '-f'],
  ['-f mpegts -show_streams S', '-f'],
  ['-report -show_format S', '-report'],
  ['-protocol_whitelist file,http -show_streams S', '-protocol_whitelist'],
  ['-v error -o out.json -show_format S', '-o'],
  ['-http_proxy http://proxy S', '-http_proxy'],
  ['-allowed_extensions ALL S', '-allowed_extensions'],
  ['-sections', '-sections'],
  ['-formats', '-formats'],
  ['-show_data_hash sha256 S', '-show_data_hash'],
  ['-v loud S', '-v'],
  ['-of yaml S', '-of'],
  ['-print_format csv=x=1 S', '-print_format'],
];

type Random = (below: number) => number;

export function seeded(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const FLAGS: readonly (readonly string[])[] = [
  ['-of', '-print_format'],
  ['-v', '-loglevel'],
];
const LEVELS = [['quiet', 'error', 'fatal', 'panic', '-8', '16']];
const STREAMS = [
  ['v:0', 'v', '0', 'V:0'],
  ['a:0', 'a', '1'],
];
const FORMATS = [
  ['default=nw=1:nk=1', 'default=noprint_wrappers=1:nokey=1', 'default=nk=1:nw=1', 'default=nk=1', 'default=nw=true'],
  ['csv=p=0', 'csv', 'csv=p=0:nk=0', "csv=s='|':p=0", 'csv=s=\\;', 'compact', 'compact=s=x', 'compact=e=none:nk=1'],
  ['json', 'xml', 'flat', 'ini', 'json=c=1', 'xml=q=1', 'ini=h=0', 'flat=s=_', 'json=compact=no'],
];
/** Other values of a flag. */
const VALUES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  '-of': FORMATS,
  '-print_format': FORMATS,
  '-v': LEVELS,
  '-loglevel': LEVELS,
  '-select_streams': STREAMS,
};

/** A shape with other words, its groups of flag and value in another order, the source at any place. */
export function variant(random: Random): string[] {
  const words = SHAPES[random(SHAPES.length)]!.split(' ').filter((word) => word !== 'S' && word !== '-i');
  const groups: string[][] = [];
  for (const word of words) {
    if (/^-[a-z]/.test(word)) groups.push([word]);
    else groups.at(-1)!.push(word);
  }
  const other = (word: string, lists: readonly (readonly string[])[] = []): string => {
    const same = lists.find((list) => list.includes(word));
    return same && random(2) === 0 ? same[random(same.length)]! : word;
  };
  const changed = groups.map(([flag = '', ...values]) => [
    other(flag, FLAGS),
    ...values.map((value) => other(value, VALUES[flag])),
  ]);
  for (let at = changed.length - 1; at > 0; at--) {
    const place = random(at + 1);
    [changed[at], changed[place]] = [changed[place]!, changed[at]!];
  }
  changed.splice(random(changed.length + 1), 0, random(2) === 0 ? ['S'] : ['-i', 'S']);
  return changed.flat();
}

export const shapes = (): string[][] => SHAPES.map((line) => line.split(' '));
