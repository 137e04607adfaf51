/**
 * The facets of a file. They are read of every result, so they are what ffprobe says, or mediainfo where it says
 * nothing: to judge the two against each other, as probe_report does, takes ten times as long.
 */
import { type Facet, type Facets, MOST_VALUES, VALUE_PATTERN } from '../../media/policy/facets.ts';
import { finerContainer } from '../../media/report/normalise/container.ts';
import { dynamicRange, readBy } from '../../media/report/report.ts';
import { bothOf, type Side, sides, type StreamType } from '../../media/report/side.ts';
import type { ResultBody } from '../../platform/bus/result_body.ts';
import type { RawToolResult } from './output.ts';
import { toldBy } from './report.ts';

/** Of a longer output nothing is read: it lists frames or packets, and nobody asked for this. */
const MOST_BYTES = 1024 * 1024;
const NOT_COUNTED: readonly string[] = ['pass', 'not-applicable'];
const isValue = new RegExp(VALUE_PATTERN);

const fieldsOf = (side: Side | undefined, type: StreamType) =>
  (side?.streams ?? []).filter((stream) => stream.type === type && stream.picture !== true).map(({ fields }) => fields);

function rangesOf(read: readonly (Side | undefined)[]): string[] {
  // Each of them sees HDR that the other one does not.
  const [first, second] = read.map((side) => fieldsOf(side, 'video')[0]);
  if (!first && !second) return [];
  const formats = dynamicRange({ ...second, ...first });
  return formats.length > 0 ? formats : ['SDR'];
}

export function facetsOf(ran: readonly RawToolResult[], policy: ResultBody['policy']): Facets | undefined {
  const read = bothOf(
    sides((name) => {
      const told = toldBy(
        ran.find((tool) => tool.name === name),
        MOST_BYTES,
      );
      return told && readBy[name](told.output, told.version);
    }),
  );
  const streams = read.find((side) => side && side.streams.length > 0);
  const formats = read.flatMap((side) => side?.container['format'] ?? []).map(String);
  const codecs = (type: StreamType) => fieldsOf(streams, type).flatMap((fields) => fields['codec.name'] ?? []);
  const found = {
    container: formats.slice(0, 1).map((format) => finerContainer(format, formats[1] ?? format)),
    video_codec: codecs('video').map(String),
    audio_codec: codecs('audio').map(String),
    hdr: rangesOf(read),
    rule: (policy?.rules ?? [])
      .filter(({ outcome }) => !NOT_COUNTED.includes(outcome))
      .map(({ name, outcome }) => `${outcome}: ${name}`),
  } satisfies Facets;
  const facets: Facets = {};
  for (const [facet, values] of Object.entries(found)) {
    const kept = [...new Set(values)].filter((value) => isValue.test(value)).slice(0, MOST_VALUES);
    if (kept.length > 0) facets[facet as Facet] = kept;
  }
  return Object.keys(facets).length > 0 ? facets : undefined;
}
