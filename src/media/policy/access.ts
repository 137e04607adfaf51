/** A field's path in a policy, and how its value is read from a report. Compiled once, when the policy is read. */
import { ruleOf } from '../report/fields.ts';
import { objectOf } from '../report/json.ts';
import type { Tolerance as TableTolerance } from '../report/tolerances.ts';
import { PolicyError, quoted, unknownName } from './error.ts';
import { CONTAINER_FIELDS, STREAM_FIELDS, TOP_FIELDS, type Fields, type PolicyField } from './fields.ts';
import { LONGEST_PATH } from './limits.ts';
import type { Kind } from './kinds.ts';
import type { Site, Stream } from './run.ts';
import { STREAM_TYPES, type StreamType } from './types.ts';

/** There is no such stream in the file. */
export const NO_STREAM = Symbol('no stream');

export interface Access {
  /** As the policy writes it. */
  path: string;
  field: string;
  kind: Kind;
  /** The report's own tolerance of it. */
  tolerance: TableTolerance | undefined;
  /** Read from some of the pictures alone: where the report says nothing, it may be in others. */
  fromPictures: boolean;
  streamOf(site: Site): Stream | undefined | typeof NO_STREAM;
  /** The value as the report shows it; undefined where it says nothing. */
  read(site: Site): unknown;
}

const INDEXED = /^([a-z]+)\[(\d{1,4})\]\.(.+)$/;

/** `scope`: the type of stream that `each` goes through here. */
export function accessTo(path: unknown, at: string, scope: StreamType | undefined): Access {
  if (typeof path !== 'string' || path.length === 0 || path.length > LONGEST_PATH)
    throw new PolicyError(at, 'must be the path of a field, such as "container.format" or "video[0].codec.name"');
  if (path.startsWith('container.')) {
    const field = path.slice('container.'.length);
    const found = known(CONTAINER_FIELDS, field, at, 'a field of the container');
    return access(path, field, found, 'container', () => undefined);
  }
  const indexed = INDEXED.exec(path);
  if (indexed) {
    const [, type = '', digits, field = ''] = indexed;
    if (!isStreamType(type)) throw unknownName(at, 'a type of stream', type, STREAM_TYPES);
    const index = Number(digits);
    const found = known(STREAM_FIELDS[type], field, at, `a field of ${streamsOf(type)}`);
    return access(path, field, found, 'stream', ({ run }) => run.streams(type)[index] ?? NO_STREAM);
  }
  if (scope !== undefined) {
    const found = known(STREAM_FIELDS[scope], path, at, `a field of ${streamsOf(scope)}`);
    return access(path, path, found, 'stream', ({ own }) => own ?? NO_STREAM);
  }
  return access(path, path, topField(path, at), 'stream', ({ run }) => run.top ?? NO_STREAM);
}

const isStreamType = (type: string): type is StreamType => STREAM_TYPES.some((one) => one === type);
export const streamsOf = (type: StreamType): string => (type === 'stream' ? 'all streams' : `${type} streams`);

function known(fields: Fields, field: string, at: string, what: string): PolicyField {
  if (Object.hasOwn(fields, field)) return fields[field]!;
  throw unknownName(at, what, field, Object.keys(fields));
}

/** Without `each`: what stands at the top of a report. The commonest slip is a field of every stream. */
function topField(path: string, at: string): PolicyField {
  if (Object.hasOwn(TOP_FIELDS, path)) return TOP_FIELDS[path]!;
  const types = STREAM_TYPES.filter((type) => type !== 'stream' && Object.hasOwn(STREAM_FIELDS[type], path));
  if (types.length > 0)
    throw new PolicyError(
      at,
      `${quoted(path)} is a field of streams: add "each: ${types[0]}", or write "${types[0]}[0].${path}"`,
    );
  if (Object.hasOwn(CONTAINER_FIELDS, path))
    throw new PolicyError(at, `${quoted(path)} is a field of the container: write "container.${path}"`);
  const places = Object.keys(CONTAINER_FIELDS).map((name) => `container.${name}`);
  throw unknownName(at, 'a field', path, [...Object.keys(TOP_FIELDS), ...places]);
}

function access(
  path: string,
  field: string,
  { kind, unsaid, pictures }: PolicyField,
  of: 'container' | 'stream',
  streamOf: Access['streamOf'],
): Access {
  const [outer, inner] = field.split('.') as [string, string | undefined];
  const counted = of === 'container' && field === 'chapters';
  return {
    path,
    field,
    kind,
    tolerance: ruleOf(field)[of],
    fromPictures: pictures !== undefined,
    streamOf,
    read(site) {
      const stream = streamOf(site);
      if (stream === NO_STREAM) return NO_STREAM;
      const view = of === 'container' ? site.run.container : stream!.view;
      const member = view[outer];
      const value = inner === undefined ? member : objectOf(member)[inner];
      if (counted && Array.isArray(value)) return value.length;
      return value ?? (pictures !== undefined && !objectOf(view['looked_at'])['pictures'] ? undefined : unsaid);
    },
  };
}
