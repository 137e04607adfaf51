/** Fields as callers see them: nested, rounded, with the names of the API (docs/report.md). */
import type { Part } from './compare.ts';
import { ruleOf } from './fields.ts';
import { isPicture, streamsOf } from './match.ts';
import { fractionOf, valueOf } from './normalise/ratio.ts';
import type { ContainerReport, StreamReport } from './schema.ts';
import { STREAM_TYPES, type Field, type Fields, type Side } from './side.ts';

/** Built from field names: tests verify that it matches the schema. */
type Nested = Record<string, unknown>;

/** A single value as callers see it, in the report and in its diff. */
export function valueView(field: string, value: Field): unknown {
  switch (ruleOf(field).shown) {
    case 'fraction':
      return fractionOf(value) ?? { numerator: 0, denominator: 1 };
    case 'rounded':
      return Math.round((valueOf(value) ?? 0) * 1000) / 1000;
    case 'whole':
      return typeof value === 'number' ? Math.round(value) : value;
    default:
      return value;
  }
}

function nested(fields: Fields, skip: (field: string) => boolean): Nested {
  const view: Nested = {};
  for (const [field, value] of Object.entries(fields)) {
    if (skip(field)) continue;
    const dot = field.indexOf('.');
    if (dot === -1) view[field] = valueView(field, value);
    else ((view[field.slice(0, dot)] ??= {}) as Nested)[field.slice(dot + 1)] = valueView(field, value);
  }
  return view;
}

/** The first video stream, at the top of the report. Codec id, frame rate and average bitrate are always present. */
export function flatView(fields: Fields): Nested {
  const view = nested(fields, (field) => !ruleOf(field).atTop);
  return {
    codec: { id: 0, ...(view['codec'] as Nested | undefined) },
    size: view['size'] ?? {},
    frame_rate: view['frame_rate'] ?? { numerator: 0, denominator: 1 },
    pixel_format: view['pixel_format'] ?? {},
    ...pick(view, ['start_time', 'duration', 'frames_count']),
    bitrate: { average: 0, ...(view['bitrate'] as Nested | undefined) },
    color: view['color'] ?? {},
  };
}

const pick = (view: Nested, names: string[]): Nested =>
  Object.fromEntries(names.filter((name) => name in view).map((name) => [name, view[name]]));

export function containerView(fields: Fields, chapters: Side['chapters'], parts: readonly Part[]): ContainerReport {
  const counts = STREAM_TYPES.map((type) => [type, parts.filter(({ kind }) => kind === type).length]);
  const streams = { total: parts.length, ...Object.fromEntries(counts) } as ContainerReport['streams'];
  return { ...nested(fields, (field) => field === 'chapters'), streams, ...(chapters.length > 0 ? { chapters } : {}) };
}

export function streamView(index: number, part: Part, fields: Fields): StreamReport {
  const { kind } = part;
  const seen = streamsOf(part.pair);
  const id = seen.find((stream) => stream.id !== undefined)?.id;
  const formats = kind === 'video' ? dynamicRange(fields) : [];
  const view = nested(fields, () => false);
  if (formats.length > 0) view['hdr'] = { formats, ...(view['hdr'] as Nested | undefined) };
  return {
    index,
    type: kind as StreamReport['type'],
    ...(id === undefined ? {} : { id }),
    ...view,
    ...(isPicture(part) ? { attached_picture: true } : {}),
    ...(seen.length > 0 && seen.every(({ embedded }) => embedded) ? { embedded: true } : {}),
  };
}

function dynamicRange(fields: Fields): string[] {
  const pq = fields['color.transfer'] === 'smpte2084';
  return [
    ...(pq && fields['hdr.dynamic'] === true ? ['HDR10+'] : []),
    ...(pq && fields['hdr.mastering_display'] === true ? ['HDR10'] : pq ? ['PQ'] : []),
    ...(fields['color.transfer'] === 'arib-std-b67' ? ['HLG'] : []),
    ...(fields['hdr.dolby_vision_profile'] === undefined && fields['hdr.dolby_vision_rpu'] === undefined
      ? []
      : ['Dolby Vision']),
  ];
}
