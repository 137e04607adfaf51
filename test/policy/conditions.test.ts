import assert from 'node:assert/strict';
import { evaluate } from '../../src/media/policy/evaluate.ts';
import { readPolicy } from '../../src/media/policy/read.ts';
import type { QcReport } from '../../src/media/qc/schema.ts';
import type { Condition } from '../../src/media/policy/schema.ts';
import type { Facts, Level, Outcome, RawTool } from '../../src/media/policy/types.ts';
import { audio, facts, video } from './report_of.ts';
import { QUIET, QUIET_AUDIO, QUIET_VIDEO } from '../qc/reports.ts';

const outcomeOf = (condition: Condition, of: Facts): Outcome =>
  evaluate(readPolicy({ rules: [{ name: 'r', ...condition }] }), of).outcome;
const resultOf = (condition: Condition, of: Facts, level: Level = 'fail') =>
  evaluate(readPolicy({ rules: [{ name: 'r', level, ...condition }] }), of).rules[0]!;

const FILE = facts([video(), audio(), audio({ bit_depth: 16, language: 'fr', index: 2 })]);
const SILENT = facts([video()]);
const LOOKED_AT = facts([video({ looked_at: { pictures: 4 } })]);
const CAPTIONED = facts([video({ looked_at: { pictures: 4 }, captions: [{ kind: 'a53', first_time: 1.4 }] })]);
const PCM_OF_SOME_KIND = facts([video(), audio({ codec: { name: 'pcm' } })]);

const TABLE: readonly [string, Condition, Facts, Outcome][] = [
  // Values compare by meaning.
  ['a fraction is a fraction', { field: 'frame_rate', is: '24000/1001' }, FILE, 'pass'],
  ['a decimal is the fraction that it stands for', { field: 'frame_rate', is: 23.976 }, FILE, 'pass'],
  ['24 is not 24000/1001', { field: 'frame_rate', is: 24 }, FILE, 'fail'],
  ['numbers are compared as numbers', { field: 'size.width', 'at-least': 900 }, FILE, 'pass'],
  ['a number as text is a number', { field: 'size.width', is: '1920' }, FILE, 'pass'],
  ['a level is a number, too', { field: 'video[0].codec.level', 'at-most': '5' }, FILE, 'pass'],
  ['a ratio as people write it', { field: 'size.display_aspect_ratio', is: '16:9' }, FILE, 'pass'],
  ['a rate with its unit', { field: 'video[0].bitrate.average', is: '5 Mbit/s' }, FILE, 'pass'],
  ['a size with its unit', { field: 'container.size', 'at-most': '1.5 MB' }, FILE, 'pass'],
  ['binary units', { field: 'container.size', 'at-most': '1.4 MiB' }, FILE, 'fail'],
  ['a time with its unit', { field: 'container.duration', between: ['9 s', '0.2 min'] }, FILE, 'pass'],
  ['a sample rate with its unit', { field: 'audio[0].sample_rate', is: '48 kHz' }, FILE, 'pass'],
  ['words in any case', { field: 'container.format', is: 'MOV' }, FILE, 'pass'],
  ['a language in any spelling', { field: 'audio[0].language', is: 'eng' }, FILE, 'pass'],
  ['a family of codecs is each of its members', { field: 'audio[0].codec.name', is: 'pcm' }, FILE, 'pass'],
  [
    'of a family it cannot be told which',
    { field: 'audio[0].codec.name', is: 'pcm_s24le' },
    PCM_OF_SOME_KIND,
    'unknown',
  ],
  ['but not another codec', { field: 'audio[0].codec.name', is: 'aac' }, PCM_OF_SOME_KIND, 'fail'],
  ['matrices with the same coefficients', { field: 'video[0].color.matrix', is: 'bt470bg' }, FILE, 'pass'],
  [
    'webm is matroska',
    { field: 'container.format', is: 'matroska' },
    facts([], { container: { format: 'webm' } }),
    'pass',
  ],
  [
    'matroska is not webm',
    { field: 'container.format', is: 'webm' },
    facts([], { container: { format: 'matroska' } }),
    'fail',
  ],
  // What pictures alone say: few are read.
  ['captions that were found', { field: 'video[0].captions', exists: true }, CAPTIONED, 'pass'],
  ['captions where none may be', { field: 'video[0].captions', absent: true }, CAPTIONED, 'fail'],
  ['a kind of captions', { field: 'video[0].captions', is: 'a53' }, CAPTIONED, 'pass'],
  ['no captions in the pictures that were read', { field: 'video[0].captions', exists: true }, LOOKED_AT, 'unknown'],
  ['that there are no captions at all', { field: 'video[0].captions', absent: true }, LOOKED_AT, 'unknown'],
  ['captions of pictures that were not read', { field: 'video[0].captions', exists: true }, FILE, 'unknown'],
  ['no Dolby Vision in a picture', { field: 'video[0].hdr.dolby_vision_rpu', is: false }, LOOKED_AT, 'pass'],
  [
    'Dolby Vision of pictures that were not read',
    { field: 'video[0].hdr.dolby_vision_rpu', is: false },
    FILE,
    'unknown',
  ],
  // Operators.
  ['not', { field: 'container.format', not: 'mxf' }, FILE, 'pass'],
  ['not any of', { field: 'container.format', not: ['mxf', 'mov'] }, FILE, 'fail'],
  ['above is strict', { field: 'size.width', above: 1920 }, FILE, 'fail'],
  ['below is strict', { field: 'size.width', below: 1920 }, FILE, 'fail'],
  ['at-most includes the limit', { field: 'size.width', 'at-most': 1920 }, FILE, 'pass'],
  ['between includes both ends', { field: 'size.width', between: [1920, 1920] }, FILE, 'pass'],
  ['two operators both have to hold', { field: 'size.width', 'at-least': 100, 'at-most': 1000 }, FILE, 'fail'],
  ['starts-with', { field: 'audio[0].codec.name', 'starts-with': 'pcm_' }, FILE, 'pass'],
  ['matches', { field: 'audio[0].codec.name', matches: ['aac', 'pcm_?24*'] }, FILE, 'pass'],
  ['matches from one end to the other', { field: 'audio[0].codec.name', matches: 'pcm' }, FILE, 'fail'],
  ['below another field', { field: 'video[0].index', below: { field: 'audio[0].index' } }, FILE, 'pass'],
  ['the same as another field', { field: 'video[0].duration', is: { field: 'container.duration' } }, FILE, 'fail'],
  [
    'within the tolerance of the report',
    { field: 'video[0].duration', within: { field: 'container.duration' } },
    FILE,
    'pass',
  ],
  [
    'within a tolerance of its own',
    { field: 'video[0].duration', within: { value: 10.1, tolerance: '2 frames' } },
    FILE,
    'fail',
  ],
  ['within a share', { field: 'video[0].bitrate.average', within: { value: 5e6, tolerance: '1 %' } }, FILE, 'pass'],
  ['exists', { field: 'container.title', exists: true }, FILE, 'fail'],
  ['absent', { field: 'container.title', absent: true }, FILE, 'pass'],
  ['exists false is absent', { field: 'container.format', exists: false }, FILE, 'fail'],
  [
    'what is shown only where it is true is false elsewhere',
    { each: 'video', field: 'encrypted', is: false },
    FILE,
    'pass',
  ],
  [
    'a list: one of its values',
    { field: 'video[0].hdr.formats', is: 'HLG' },
    facts([video({ hdr: { formats: ['PQ', 'HLG'] } })]),
    'pass',
  ],
  [
    'a list: not is asked of every value',
    { field: 'video[0].hdr.formats', not: 'PQ' },
    facts([video({ hdr: { formats: ['HLG', 'PQ'] } })]),
    'fail',
  ],
  ['an empty list has no value', { field: 'video[0].hdr.formats', is: 'PQ' }, FILE, 'fail'],
  ['confidence', { field: 'codec.name', confidence: { 'at-least': 0.9 } }, FILE, 'pass'],
  ['too little confidence', { field: 'codec.name', confidence: { 'at-least': 0.96 } }, FILE, 'fail'],
  ['no confidence is learned', { field: 'size.width', confidence: { 'at-least': 0.1 } }, FILE, 'unknown'],
  ['a value and its confidence', { field: 'codec.name', is: 'hevc', confidence: { 'at-least': 0.9 } }, FILE, 'fail'],
  // Placeholders of the report are no values.
  [
    'a frame rate of 0/1 is not known',
    { field: 'frame_rate', 'at-most': 60 },
    facts([video({ frame_rate: { numerator: 0, denominator: 1 } })]),
    'unknown',
  ],
  [
    'an average bit rate of 0 is not known',
    { each: 'video', field: 'bitrate.average', 'at-most': 1 },
    facts([video({ bitrate: { average: 0 } })]),
    'unknown',
  ],
  // Streams.
  ['each: every stream', { each: 'audio', field: 'bit_depth', is: 24 }, FILE, 'fail'],
  [
    'each: a cover is no video',
    { each: 'video', field: 'codec.name', is: 'h264' },
    facts([video(), video({ codec: { name: 'mjpeg' }, attached_picture: true })]),
    'pass',
  ],
  [
    'each: picture is a cover',
    { each: 'picture', field: 'codec.name', is: 'mjpeg' },
    facts([video({ codec: { name: 'mjpeg' }, attached_picture: true })]),
    'pass',
  ],
  ['match any', { each: 'audio', match: 'any', field: 'bit_depth', is: 24 }, FILE, 'pass'],
  ['match exactly', { each: 'audio', match: { exactly: 2 }, field: 'bit_depth', is: 24 }, FILE, 'fail'],
  ['match as text', { each: 'audio', match: 'exactly 1', field: 'bit_depth', is: 24 }, FILE, 'pass'],
  ['match at-least', { each: 'audio', match: { 'at-least': 2 }, field: 'bit_depth', 'at-least': 16 }, FILE, 'pass'],
  ['match at-most', { each: 'audio', match: { 'at-most': 0 }, field: 'bit_depth', is: 16 }, FILE, 'fail'],
  [
    'match where one is not known may still be decided',
    { each: 'audio', match: 'any', field: 'title', is: 'a' },
    facts([audio({ title: 'a' }), audio()]),
    'pass',
  ],
  [
    'match where one is not known may be open',
    { each: 'audio', match: 'any', field: 'title', is: 'a' },
    facts([audio({ title: 'b' }), audio()]),
    'unknown',
  ],
  [
    'a group of each stream',
    {
      each: 'audio',
      any: [
        { field: 'bit_depth', is: 24 },
        { field: 'language', is: 'fr' },
      ],
    },
    FILE,
    'pass',
  ],
  ['count', { count: 'audio', is: 2 }, FILE, 'pass'],
  ['count of none', { count: 'subtitle', 'at-least': 1 }, FILE, 'fail'],
  // MediaConch's faults: nothing applied, one of two tracks wrong, a field that nobody says.
  ['nothing applies: each of no stream', { each: 'audio', field: 'bit_depth', is: 24 }, SILENT, 'not-applicable'],
  ['nothing applies: a stream that is not there', { field: 'audio[0].bit_depth', is: 24 }, SILENT, 'not-applicable'],
  [
    'nothing applies: when is false for all',
    { each: 'video', when: { field: 'codec.name', is: 'hevc' }, field: 'scan_type', is: 'progressive' },
    FILE,
    'not-applicable',
  ],
  [
    'a demand is not kept by a file without streams: any',
    { each: 'audio', match: 'any', field: 'bit_depth', is: 24 },
    SILENT,
    'fail',
  ],
  [
    'a demand is not kept by a file without streams: exactly 1',
    { each: 'audio', match: { exactly: 1 }, field: 'bit_depth', is: 24 },
    SILENT,
    'fail',
  ],
  [
    'a ban on nothing is no pass: exactly 0',
    { each: 'audio', match: { exactly: 0 }, field: 'bit_depth', is: 8 },
    SILENT,
    'not-applicable',
  ],
  ['a stream that is not there does not exist', { field: 'audio[1].codec.name', exists: true }, SILENT, 'fail'],
  ['a field that nobody says is unknown', { each: 'video', field: 'color.primaries', is: 'bt709' }, FILE, 'unknown'],
  ['unknown is no pass of not, either', { each: 'video', field: 'color.primaries', not: 'bt709' }, FILE, 'unknown'],
  ['without a report everything is unknown', { field: 'container.format', is: 'mov' }, { tools: [] }, 'unknown'],
  ['without a report each is unknown', { each: 'video', field: 'codec.name', is: 'h264' }, { tools: [] }, 'unknown'],
  ['without a report a count is unknown', { count: 'video', is: 0 }, { tools: [] }, 'unknown'],
  // When.
  [
    'when it is not known whether it applies',
    { when: { field: 'container.title', is: 'x' }, count: 'video', is: 1 },
    FILE,
    'unknown',
  ],
];

describe('policy: conditions', () => {
  for (const [what, condition, of, expected] of TABLE)
    it(`${what}: ${expected}`, () => assert.equal(outcomeOf(condition, of), expected));

  it('tells of a few streams, and counts the rest', () => {
    const many = facts(Array.from({ length: 50 }, () => audio({ bit_depth: 16 })));
    const { also, more, ...first } = resultOf({ each: 'audio', field: 'bit_depth', is: 24 }, many);
    assert.deepEqual([first.stream, first.actual, first.expected], ['streams[0]', '16', '24']);
    assert.deepEqual(also, [
      { stream: 'streams[1]', actual: '16' },
      { stream: 'streams[2]', actual: '16' },
      { stream: 'streams[3]', actual: '16' },
    ]);
    assert.equal(more, 46);
  });

  it('tells only the nearest branch of any', () => {
    const branch = (width: number, height: number): Condition => ({
      all: [
        { field: 'size.width', is: width },
        { field: 'size.height', is: height },
      ],
    });
    const { message, expected } = resultOf({ any: [branch(720, 576), branch(1920, 1200), branch(3840, 2160)] }, FILE);
    assert.deepEqual([message, expected], ['size.height of streams[0] is 1080; expected 1200', '1200']);
  });

  it('says which tool a disputed value is from', () => {
    const disputed = facts([video()], {
      diff: [{ path: 'streams[0].codec.name', ffprobe: 'h264', mediainfo: 'hevc', chosen: 'ffprobe' }],
    });
    assert.equal(resultOf({ each: 'video', field: 'codec.name', is: 'hevc' }, disputed).from, 'ffprobe');
  });

  it('a failure of level warn is a warning', () => {
    assert.equal(resultOf({ count: 'video', is: 2 }, FILE, 'warn').outcome, 'warn');
  });
});

/** A condition of each outcome in FILE. */
const PARTS = {
  pass: { count: 'video', is: 1 },
  fail: { count: 'video', is: 2 },
  unknown: { field: 'container.title', is: 'x' },
  'not-applicable': { each: 'subtitle', field: 'language', is: 'en' },
} as const satisfies Partial<Record<Outcome, Condition>>;

describe('policy: groups', () => {
  const cases: readonly ['all' | 'any' | 'none', readonly (keyof typeof PARTS)[], Outcome][] = [
    ['all', ['pass', 'pass'], 'pass'],
    ['all', ['pass', 'fail'], 'fail'],
    ['all', ['pass', 'unknown'], 'unknown'],
    ['all', ['unknown', 'fail'], 'fail'],
    ['all', ['pass', 'not-applicable'], 'pass'],
    ['all', ['not-applicable'], 'not-applicable'],
    ['any', ['unknown', 'pass'], 'pass'],
    ['any', ['unknown', 'fail'], 'unknown'],
    ['any', ['fail', 'fail'], 'fail'],
    ['any', ['fail', 'not-applicable'], 'fail'],
    ['any', ['not-applicable'], 'not-applicable'],
    ['none', ['fail', 'fail'], 'pass'],
    ['none', ['fail', 'pass'], 'fail'],
    ['none', ['unknown', 'pass'], 'fail'],
    ['none', ['fail', 'unknown'], 'unknown'],
    ['none', ['not-applicable'], 'not-applicable'],
  ];
  for (const [word, parts, expected] of cases)
    it(`${word} of ${parts.join(' and ')}: ${expected}`, () =>
      assert.equal(outcomeOf({ [word]: parts.map((part) => PARTS[part]) }, FILE), expected));
});

describe('policy: disagreement, warnings', () => {
  const disagree = facts([video()], {
    diff: [
      { path: 'container.duration', ffprobe: 10, mediainfo: 10.05, chosen: 'ffprobe' },
      { path: 'streams[0].codec.name', ffprobe: 'h264', mediainfo: 'hevc', chosen: 'ffprobe' },
    ],
    warnings: [{ code: 'truncated', message: '', path: 'container' }],
  });
  const single = facts([video()], { warnings: [{ code: 'single-source', message: 'from ffprobe alone', path: '' }] });
  const cases: readonly [string, Condition, Facts, Outcome][] = [
    ['the tools agree', { disagreement: { field: 'container.duration' } }, FILE, 'pass'],
    ['they do not', { disagreement: { field: 'container.duration' } }, disagree, 'fail'],
    [
      'two frames are allowed',
      { disagreement: { field: 'container.duration', 'at-most': '2 frames' } },
      disagree,
      'pass',
    ],
    [
      'one frame is not enough',
      { disagreement: { field: 'container.duration', 'at-most': '1 frame' } },
      disagree,
      'fail',
    ],
    ['of each stream', { each: 'video', disagreement: { field: 'codec.name' } }, disagree, 'fail'],
    ['counted', { disagreement: { 'at-most': 1 } }, disagree, 'fail'],
    ['counted with an exception', { disagreement: { 'at-most': 1, except: '*.codec.name' } }, disagree, 'pass'],
    ['one tool cannot disagree', { disagreement: { field: 'container.duration' } }, single, 'unknown'],
    ['no diff was made', { disagreement: {} }, facts([video()], { diff: undefined }), 'unknown'],
    ['warnings', { warnings: 0 }, disagree, 'fail'],
    ['warnings of other codes', { warnings: { of: ['encrypted', 'broken-*'] } }, disagree, 'pass'],
    ['warnings but for some', { warnings: { except: ['trunc*'] } }, disagree, 'pass'],
  ];
  for (const [what, condition, of, expected] of cases)
    it(`${what}: ${expected}`, () => assert.equal(outcomeOf(condition, of), expected));
});

describe('policy: HLS findings and C2PA', () => {
  const message = (level: string, code: string, more: object = {}) => ({ level, code, url: 'u', ...more });
  const checked = (name: string, report: object, success = true): Facts => ({
    tools: [{ name, version: '1.0.0', success, output: JSON.stringify(report) }],
  });
  const hls = (messages: object[], summary: object): Facts => checked('msv', { messages, summary });
  const some = hls(
    [
      message('must-fix', 'allow-cache'),
      ...Array.from({ length: 10 }, (_, at) => message('should-fix', 'analysis-cut', at === 4 ? { count: 30 } : {})),
    ],
    { must_fix: 1, should_fix: 30, info: 0, untold: 0 },
  );
  const signed = (report: object): Facts => checked('c2pa', report);
  const valid = signed({
    validation_state: 'Valid',
    active_manifest: 'm',
    manifests: { m: { signature_info: { issuer: 'Studio One' } } },
  });
  const unsigned = signed({ validation_state: null, active_manifest: null, manifests: {} });
  const declared = (declared_ai: string | null): Facts =>
    signed({ validation_state: 'Valid', active_manifest: null, manifests: {}, summary: { declared_ai } });
  const cases: readonly [string, Condition, Facts, Outcome][] = [
    ['none of a level', { findings: { info: 0 } }, some, 'pass'],
    ['one is too many', { findings: { 'must-fix': 0 } }, some, 'fail'],
    ['but for its code', { findings: { 'must-fix': { except: ['allow-cache'] } } }, some, 'pass'],
    [
      'what is told once may be counted often',
      { findings: { 'should-fix': { of: ['analysis-cut'], 'at-most': 29 } } },
      some,
      'fail',
    ],
    ['and is counted once', { findings: { 'should-fix': { of: ['analysis-cut'], 'at-most': 30 } } }, some, 'pass'],
    [
      'untold findings may decide',
      { findings: { 'must-fix': { except: ['allow-cache'] } } },
      hls([], { must_fix: 9, untold: 9 }),
      'unknown',
    ],
    ['no report of the validator', { findings: { 'must-fix': 0 } }, FILE, 'unknown'],
    ['a validator that failed', { findings: { 'must-fix': 0 } }, checked('msv', { success: false }, false), 'unknown'],
    ['a valid manifest', { c2pa: { state: ['Valid', 'Trusted'] } }, valid, 'pass'],
    ['is not trusted', { c2pa: { state: 'trusted' } }, valid, 'fail'],
    ['its signer', { c2pa: { signer: 'Studio *' } }, valid, 'pass'],
    ['another signer', { c2pa: { signer: 'Other' } }, valid, 'fail'],
    ['no manifest', { c2pa: { state: ['valid', 'trusted'] } }, unsigned, 'fail'],
    ['no manifest is wanted', { c2pa: { state: 'none' } }, unsigned, 'pass'],
    ['the check failed', { c2pa: { state: 'none' } }, signed({ success: false, error: 'x' }), 'unknown'],
    ['no check', { c2pa: { state: 'none' } }, FILE, 'unknown'],
    ['no AI is declared', { c2pa: { 'declared-ai': 'none' } }, declared(null), 'pass'],
    ['AI is declared', { c2pa: { 'declared-ai': 'none' } }, declared('composite'), 'fail'],
    ['AI of a kind', { c2pa: { 'declared-ai': ['composite', 'unspecified'] } }, declared('composite'), 'pass'],
    ['AI of a later kind', { c2pa: { 'declared-ai': 'none' } }, declared('assisted'), 'unknown'],
    ['a report without a summary', { c2pa: { 'declared-ai': 'none' } }, valid, 'unknown'],
    ['AI and its state', { c2pa: { state: 'trusted', 'declared-ai': 'none' } }, declared(null), 'fail'],
  ];
  for (const [what, condition, of, expected] of cases)
    it(`${what}: ${expected}`, () => assert.equal(outcomeOf(condition, of), expected));
});

describe('policy: raw paths', () => {
  const output = {
    media: {
      track: [
        { '@type': 'General', Format: 'MPEG-4', Duration: '10.0' },
        { '@type': 'Audio', Format: 'PCM', BitDepth: '24', extra: { 'com.example.key': 'a' } },
        { '@type': 'Audio', Format: 'AAC' },
      ],
    },
  };
  const ran = (more: object = {}): Facts => ({
    tools: [{ name: 'mediainfo', version: '26.10', success: true, output: JSON.stringify(output), ...more }],
  });
  const path = (text: string, operators: Partial<Condition>, tool: RawTool = 'mediainfo'): Condition => ({
    tool,
    path: text,
    ...operators,
  });
  const cases: readonly [string, Condition, Facts, Outcome][] = [
    ['every element', path('track[@type=Audio].Format', { is: 'PCM' }), ran(), 'fail'],
    ['any element', path('track[@type=Audio].Format', { is: 'PCM', match: 'any' }), ran(), 'pass'],
    ['one by its number', path('track[@type=Audio][1].Format', { is: 'AAC' }), ran(), 'pass'],
    ['a number as text is a number', path('track[@type=Audio][0].BitDepth', { 'at-least': 16 }), ran(), 'pass'],
    ['numbers by their value', path('track[0].Duration', { is: 10 }), ran(), 'pass'],
    ['a quoted name', path('track[*].extra."com.example.key"', { is: 'a', match: 'any' }), ran(), 'pass'],
    ['a member that is not there is unknown', path('track[@type=Audio].BitDepth', { is: 24 }), ran(), 'unknown'],
    ['no such element', path('track[@type=Text].Format', { is: 'x' }), ran(), 'not-applicable'],
    [
      'no such element, but one is demanded',
      path('track[@type=Text].Format', { is: 'x', match: 'any' }),
      ran(),
      'fail',
    ],
    ['no such element does not exist', path('track[@type=Text].Format', { exists: true }), ran(), 'fail'],
    ['absent', path('track[@type=Audio].Title', { absent: true }), ran(), 'pass'],
    ['text has no order', path('track[0].Format', { 'at-least': 3 }), ran(), 'unknown'],
    ['another path', path('track[@type=Audio][0].BitDepth', { above: { path: 'track[0].Duration' } }), ran(), 'pass'],
    ['a tool that did not run', path('format.format_name', { exists: true }, 'ffprobe'), ran(), 'unknown'],
    ['a tool that failed', path('track[0].Format', { exists: true }), ran({ success: false }), 'unknown'],
    ['an output that is not JSON', path('track[0].Format', { exists: true }), ran({ output: '<xml/>' }), 'unknown'],
    ['inherited members are not there', path('track[*].constructor', { exists: true }), ran(), 'fail'],
  ];
  for (const [what, condition, of, expected] of cases)
    it(`${what}: ${expected}`, () => assert.equal(outcomeOf(condition, of), expected));

  it('another version than the policy is written for is unknown', () => {
    const rules = [{ name: 'r', tool: 'mediainfo', path: 'track[0].Format', is: 'MPEG-4' }];
    const { rules: results } = evaluate(readPolicy({ uses: { mediainfo: '24.06' }, rules }), ran());
    assert.equal(results[0]!.message, 'the policy is written for mediainfo 24.06, and 26.10 ran');
    assert.equal(evaluate(readPolicy({ uses: { mediainfo: '26.10' }, rules }), ran()).outcome, 'pass');
  });
});

describe('policy: content checks', () => {
  const silent = { ...QUIET_AUDIO, loudness: { ...QUIET_AUDIO.loudness, integrated: null }, sample_peak: null };
  const report: QcReport = {
    ...QUIET,
    video: [{ stream: 0, ...QUIET_VIDEO, black: { count: 1, list: [{ from: 2, to: 5, to_end: false }], more: 0 } }],
    audio: [
      { stream: 1, ...QUIET_AUDIO },
      { stream: 2, ...silent },
    ],
  };
  const ran = (some: Partial<QcReport> = {}, more: object = {}): Facts => ({
    tools: [{ name: 'qc', version: '7.1', success: true, output: JSON.stringify({ ...report, ...some }), ...more }],
  });
  const cut = ran({ until: 4, cut: 'qc did not finish within 1500 ms' });
  const path = (text: string, operators: Partial<Condition>): Condition => ({ tool: 'qc', path: text, ...operators });
  const cases: readonly [string, Condition, Facts, Outcome][] = [
    ['no black', path('video[*].black.count', { 'at-most': 0 }), ran(), 'fail'],
    ['no freeze', path('video[*].freeze.count', { 'at-most': 0 }), ran(), 'pass'],
    [
      'no black in a source without pictures',
      path('video[*].black.count', { 'at-most': 0 }),
      ran({ video: [] }),
      'not-applicable',
    ],
    ['no passage is long', path('video[0].black.list[*].to', { 'at-most': 4 }), ran(), 'fail'],
    ['no passage lasts to the end', path('video[0].black.list[*].to_end', { is: false }), ran(), 'pass'],
    ['a stream by its number', path('audio[stream=1].loudness.integrated', { between: [-24, -22] }), ran(), 'pass'],
    [
      'a loudness that was not measured is unknown',
      path('audio[stream=2].loudness.integrated', { is: -23 }),
      ran(),
      'unknown',
    ],
    ['a peak', path('audio[0].loudness.true_peak', { 'at-most': -2 }), ran(), 'fail'],
    ['no clipping', path('audio[*].clipping', { is: false }), ran(), 'pass'],
    ['durations', path('audio[0].decoded', { is: { path: 'audio[0].declared' } }), ran(), 'pass'],
    ['the whole source was checked', path('cut', { absent: true }), ran(), 'pass'],
    ['the whole source was not checked', path('cut', { absent: true }), cut, 'fail'],
    ['the time that was checked', path('until', { 'at-least': 5 }), cut, 'fail'],
    [
      'checks that failed',
      path('audio[*].clipping', { is: false }),
      ran({}, { success: false, output: null }),
      'unknown',
    ],
    ['checks that did not run', path('audio[*].clipping', { is: false }), { tools: [] }, 'unknown'],
  ];
  for (const [what, condition, of, expected] of cases)
    it(`${what}: ${expected}`, () => assert.equal(outcomeOf(condition, of), expected));

  it('say where the value comes from', () => {
    const { message, from } = resultOf(path('video[*].black.count', { 'at-most': 0 }), ran());
    assert.deepEqual([message, from], ['video[*].black.count is 1; expected at most 0', 'qc 7.1']);
  });
});

describe('policy: the outcome of the whole', () => {
  const RULES: Readonly<Record<string, Condition & { level?: Level }>> = {
    ...PARTS,
    warn: { ...PARTS.fail, level: 'warn' },
    'unknown of warn': { ...PARTS.unknown, level: 'warn' },
  };
  const whole = (names: readonly string[]): Outcome =>
    evaluate(readPolicy({ rules: names.map((name) => ({ name, ...RULES[name] })) }), FILE).outcome;
  const expectedOf = (names: readonly string[]): Outcome => {
    for (const [name, outcome] of [
      ['fail', 'fail'],
      ['unknown', 'unknown'],
      ['warn', 'warn'],
      ['unknown of warn', 'warn'],
      ['pass', 'pass'],
    ] as const)
      if (names.includes(name)) return outcome;
    return 'not-applicable';
  };

  it('of every combination of outcomes is the worst of them, and never a pass of nothing', () => {
    const names = Object.keys(RULES);
    for (let set = 1; set < 1 << names.length; set++) {
      const chosen = names.filter((_, index) => set & (1 << index));
      assert.equal(whole(chosen), expectedOf(chosen), chosen.join(' + '));
    }
  });
});
