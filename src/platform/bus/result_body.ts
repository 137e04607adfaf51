/**
 * The head of a result's body, and its form; the outputs of the tools stand behind it (packing.ts). Collectors check
 * it; the agent uses the types alone. So it is apart from the messages: an agent that loads the schemas takes half as
 * much CPU again to start.
 */
import Type, { type Static } from 'typebox';
import { CAUSE_PATTERN } from '../../base/causes.ts';
import { eitherOrNull as orNull, oneOf } from '../../base/schema_parts.ts';
import { FACET_NAMES, type Facets, MOST_VALUES, VALUE_PATTERN } from '../../media/policy/facets.ts';
import { PolicyResultSchema, type PolicyResult } from '../../media/policy/schema.ts';
import { RESULTS, TOOLS, type ToolName } from '../../media/tools/table.ts';
import { IDENTITY_PATTERN } from '../../source/http/identity.ts';
import { SIDES } from './messages.ts';

const milliseconds = Type.Number({ minimum: 0, maximum: 1e10 });

const FailureCode = oneOf([
  'origin-unreachable',
  'source-forbidden',
  'source-too-large',
  'source-cut',
  'upload-lost',
  'timeout',
  'crashed',
  'out-of-memory',
  'output-too-large',
  'failed',
  'unavailable',
]);
export type FailureCode = Static<typeof FailureCode>;

/** More exact than the failure code (causes.ts); absent where that is all. */
const Code = Type.Optional(Type.String({ pattern: CAUSE_PATTERN }));
const count = Type.Integer({ minimum: 0, maximum: 1e15 });

const Member = Type.Object({ from: count, to: count, isString: Type.Boolean() });
/** What answers need to know of a JSON value without reading it. Positions count from the beginning of its output. */
const JsonShape = Type.Object({
  isObject: Type.Boolean(),
  /** The value has no members. */
  isEmpty: Type.Boolean(),
  /** The values of members that other parts of an answer could collide with, or take up; of a repeated one the last. */
  members: Type.Record(Type.String(), Member),
  /** The closing bracket of the outermost object or list; -1 if it is neither. */
  close: Type.Integer(),
  /** White space after it, at most 16 bytes. */
  tail: Type.String(),
});
export type JsonShape = Static<typeof JsonShape>;

/** Where an output stands behind the head. All of this is found again by the collector, and must be the same. */
const Output = Type.Object({
  from: count,
  to: count,
  /** Its length within a JSON string, without the quotes. */
  escaped: count,
  /** Of JSON, if the outputs of the result are long (LONG in packing.ts). */
  json: Type.Optional(JsonShape),
});
export type Output = Static<typeof Output>;

const resultOf = <const N extends string>(names: readonly N[]) =>
  Type.Object({
    name: oneOf(names),
    version: Type.String({ maxLength: 64 }),
    /** In a comparison of two sources: which of them the tool read. */
    side: Type.Optional(oneOf(SIDES)),
    build: Type.Optional(Type.String({ maxLength: 256 })),
    success: Type.Boolean(),
    /** From spawn to end, by the monotonic clock. */
    durationMs: milliseconds,
    usageMs: milliseconds,
    /** As a shell reports it: 128 and the number of the signal that ended the tool. Null if it did not run. */
    exitCode: orNull(Type.Integer()),
    signal: orNull(Type.String({ maxLength: 32 })),
    /** Absent on success. Redacted, for the caller. */
    error: Type.Optional(Type.String({ maxLength: 65_536 })),
    failure: Type.Optional(FailureCode),
    code: Code,
    /** Format of `output`: one JSON value, preserved byte for byte, or other text. */
    format: oneOf(['json', 'text']),
    /** Of media that it decoded, in whole seconds: of content checks. */
    decodedSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 1e9 })),
    /** The tool's output with addresses restored and secrets redacted; null if empty. */
    output: orNull(Output),
  });
const ToolResult = resultOf(TOOLS);
export type ToolResult = Static<typeof ToolResult>;
/** The result of `probe_report`, which is presented and counted like a tool. */
const ReportResult = resultOf(RESULTS);
export type ReportResult = Static<typeof ReportResult>;

/**
 * For a job of the kind `compare`: the differences between its runs, a Comparison (src/media/compare/schema.ts) as
 * JSON.
 */
const ComparisonResult = Type.Object({ durationMs: milliseconds, output: Type.String({ maxLength: 256 * 1024 }) });
export type ComparisonResult = Static<typeof ComparisonResult>;

/** `output`: a Timeline (src/media/timeline/schema.ts) as JSON; null if nothing could be read. */
const TimelineResult = Type.Object({
  success: Type.Boolean(),
  durationMs: milliseconds,
  usageMs: milliseconds,
  error: Type.Optional(Type.String({ maxLength: 65_536 })),
  code: Code,
  output: orNull(Output),
});
export type TimelineResult = Static<typeof TimelineResult>;

/** A runner of a later version may add members to a rule's result; known members keep their bounds. */
const growing = (schema: unknown): unknown =>
  Array.isArray(schema)
    ? schema.map(growing)
    : typeof schema === 'object' && schema !== null
      ? Object.fromEntries(
          Object.entries(schema)
            .filter(([keyword]) => keyword !== 'additionalProperties')
            .map(([keyword, value]) => [keyword, growing(value)]),
        )
      : schema;
const Verdict = Type.Unsafe<PolicyResult>(growing(PolicyResultSchema) as object);

/** Of an object whose tags were asked for; the code and the message say why they were not written. */
const Tagged = Type.Object({
  written: Type.Boolean(),
  code: Code,
  message: Type.Optional(Type.String({ maxLength: 4_096 })),
});

const FacetValues = Type.Array(Type.String({ pattern: VALUE_PATTERN }), { maxItems: MOST_VALUES, uniqueItems: true });
const FacetsSchema = Type.Unsafe<Facets>(
  Type.Partial(Type.Object(Object.fromEntries(FACET_NAMES.map((name) => [name, FacetValues])))),
);

const OriginUse = Type.Object({ requests: count, connections: count, bytes: count, ms: count });
export type OriginUses = Partial<Record<ToolName, Static<typeof OriginUse>>>;
const OriginUses = Type.Unsafe<OriginUses>(
  Type.Partial(Type.Object(Object.fromEntries(TOOLS.map((name) => [name, OriginUse])))),
);

/** The head of a result's body, before compression and chunking. */
export const ResultBody = Type.Object({
  tools: Type.Array(ToolResult, { maxItems: 8 }),
  report: Type.Optional(ReportResult),
  /** Tools of the job that did not run, because the source is of another kind. */
  skipped: Type.Optional(Type.Array(oneOf(TOOLS), { maxItems: 8 })),
  comparison: Type.Optional(ComparisonResult),
  timeline: Type.Optional(TimelineResult),
  /** What content checks kept to be looked at: QcPictures (src/media/qc/pictures_schema.ts) as JSON. */
  pictures: Type.Optional(Type.Object({ output: Output })),
  /** In place of results of tools: a Listed (src/source/listing/listing.ts) as JSON. */
  listing: Type.Optional(Type.Object({ output: Output })),
  policy: Type.Optional(Verdict),
  tagged: Type.Optional(Tagged),
  facets: Type.Optional(FacetsSchema),
  ioUsage: Type.Number({ minimum: 0, maximum: 1e15 }),
  /** Of a source that is one file (src/source/http/identity.ts); absent if its host does not tell which file it is. */
  identity: Type.Optional(Type.String({ pattern: IDENTITY_PATTERN })),
  /** By tool; the bytes add up to `ioUsage`. Absent in ends that the leader records. */
  origin: Type.Optional(OriginUses),
  /** The source proxy's view of the origin, which decides between 400, 404 and 200. */
  source: Type.Optional(
    Type.Object({
      failure: FailureCode,
      status: Type.Optional(Type.Integer()),
      code: Code,
      message: Type.String({ maxLength: 65_536 }),
    }),
  ),
});
export type ResultBody = Static<typeof ResultBody>;
