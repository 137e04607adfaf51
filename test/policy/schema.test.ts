import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import { evaluate } from '../../src/media/policy/evaluate.ts';
import { readPolicyText } from '../../src/media/policy/read.ts';
import { PolicyResultSchema, PolicySchema } from '../../src/media/policy/schema.ts';
import { sampleFacts } from './facts.ts';

const ajv = new Ajv({ strict: true, allowUnionTypes: true });

/** One of everything that a rule may have. */
const EVERYTHING = `
description: One of everything
uses: {ffprobe: "9.0", mediainfo: "26.10"}
rules:
  - {name: wrapper, field: container.format, in: [mov, mxf]}
  - {name: rate, each: video, field: frame_rate, in: ["24000/1001", "25", "30000/1001"]}
  - {name: scan, each: video, when: {field: frame_rate, is: "24000/1001"}, field: scan_type, is: progressive}
  - {name: depth, each: audio, field: bit_depth, is: 24, level: warn, description: Of every track}
  - {name: order, field: "video[0].index", below: {field: "audio[0].index"}}
  - {name: tools-agree, disagreement: {field: container.duration, at-most: 1 frame}}
  - {name: all-agree, disagreement: {at-most: 2, except: ["*.bitrate.*"]}}
  - {name: sure, field: duration, confidence: {at-least: 0.9}}
  - {name: hls, findings: {must-fix: 0, should-fix: {at-most: 3, except: [captions-unsaid]}}}
  - {name: signed, c2pa: {state: [Valid, Trusted], signer: "Studio *"}}
  - {name: raw, tool: mediainfo, path: "track[@type=Video].Format_Level", is: "4.1"}
  - {name: intact, warnings: {of: [truncated, broken-*]}}
  - {name: one-video, count: video, is: 1}
  - name: either
    each: video
    match: at-least 1
    any:
      - {field: codec.name, is: h264}
      - all: [{field: codec.name, is: hevc}, {field: pixel_format.bit_depth, at-least: 10}]
      - none: [{field: size.width, between: [1, 720]}, {field: title, matches: ["*draft*"]}]
`;

describe('policy: schemas', () => {
  it('a policy with one of everything, and its result, are valid', () => {
    const { policy } = readPolicyText(EVERYTHING, 'application/yaml');
    const validPolicy = ajv.compile(PolicySchema);
    assert.ok(validPolicy(policy), JSON.stringify(validPolicy.errors));
    const validResult = ajv.compile(PolicyResultSchema);
    const result = { name: null, revision: null, ...evaluate(policy, sampleFacts('time_code.mov')) };
    assert.ok(validResult(result), JSON.stringify(validResult.errors));
  });
});
