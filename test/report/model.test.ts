import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from '../../src/media/report/context.ts';
import { compare } from '../../src/media/report/compare.ts';
import { surroundingsOf, type Features } from '../../src/media/report/features.ts';
import { decide, judge, learned as model } from '../../src/media/report/judge.ts';
import { FIELDS, ruleOf } from '../../src/media/report/fields.ts';
import { readFfprobe } from '../../src/media/report/normalise/ffprobe.ts';
import { readMediainfo } from '../../src/media/report/normalise/mediainfo.ts';
import { rule } from '../../src/media/report/rules.ts';
import { Model, type Weights } from '../../src/media/report/trees.ts';
import { random } from '../../bench/report/random.ts';
import { recipe } from '../../bench/report/recipe.ts';
import { truthOf } from '../../bench/report/truth_of.ts';
import { inputOf, picture } from './sample.ts';

interface Answer {
  of: keyof Weights['ensembles'];
  features: { shared: string[]; words: string[]; numbers: (number | null)[] };
  probability: number;
}
const ANSWERS = JSON.parse(readFileSync(join(import.meta.dirname, 'trained_answers.json'), 'utf8')) as Answer[];
const featuresOf = ({ features }: Answer): Features => ({
  ...features,
  numbers: features.numbers.map((value) => value ?? NaN),
});

/** The number of the trainer's answers that another model would not give. */
const wrong = (of: Model): number =>
  ANSWERS.filter((answer) => Math.abs(of.ask(answer.of, of.row(featuresOf(answer))) - answer.probability) > 1e-9)
    .length;

describe('report: model', () => {
  it('answers as its trainer did', () => {
    assert.ok(ANSWERS.length >= 40);
    assert.equal(wrong(model), 0);
  });

  it('a change of any part gives other answers, in every ensemble', () => {
    const draw = random(11);
    const names = ['ffprobe', 'mediainfo', 'single', 'agreed'] as const;
    for (const name of names) {
      const changed = (
        change: (weights: {
          ensembles: Record<string, { base: number; temperature: number; trees: number[][][] }>;
        }) => void,
      ): number => {
        const copy = structuredClone(model.weights) as unknown as Weights & {
          ensembles: Record<string, { base: number; temperature: number; trees: number[][][] }>;
        };
        change(copy);
        return wrong(new Model(copy as unknown as Weights));
      };
      assert.ok(
        changed((weights) => {
          weights.ensembles[name]!.base += 0.01;
        }) > 0,
        `${name}: base`,
      );
      assert.ok(
        changed((weights) => {
          weights.ensembles[name]!.temperature *= 1.1;
        }) > 0,
        `${name}: temperature`,
      );
      assert.ok(
        changed((weights) => {
          weights.ensembles[name]!.trees.pop();
        }) > 0,
        `${name}: a tree less`,
      );
      const tree = draw.between(0, model.weights.ensembles[name].trees.length - 1);
      assert.ok(
        changed((weights) => {
          for (const node of weights.ensembles[name]!.trees[tree]!) if (node.length === 1) node[0]! *= -1;
        }) > 0,
        `${name}: the leaves of tree ${tree}`,
      );
      assert.ok(
        changed((weights) => {
          for (const node of weights.ensembles[name]!.trees[0]!)
            if (node.length > 1) [node[2], node[3]] = [node[3]!, node[2]!];
        }) > 0,
        `${name}: branches`,
      );
    }
  });

  it('refuses weights that were trained on other features', () =>
    assert.throws(() => new Model({ ...model.weights, numbers: ['ratio'] }), /train again/));

  it('the confidences of two values add up to at most one', () => {
    for (const sample of ['quad_sound.flv', 'layer_two.mp4', 'picture_and_sound.mkv']) {
      for (const context of disputesOf(inputOf(sample))) {
        const [one, other] = [judge(context, 'ffprobe').confidence, judge(context, 'mediainfo').confidence];
        if (one === undefined || other === undefined) continue;
        assert.ok(one >= 0 && other >= 0 && one + other <= 1 + 1e-9);
        assert.equal(judge(context, null).confidence, Math.max(one, other));
      }
    }
  });

  it('has a confidence exactly for the fields whose true value was known in its files', () => {
    const packets = Array.from({ length: 12 }, (_, index) => ({
      stream_index: index % 4,
      pts_time: String(index),
      duration_time: '1',
      size: '1000',
    }));
    const known = new Set<string>();
    for (let number = 1; number <= 400; number++) {
      const { container, streams } = truthOf(recipe(number), packets, { whole: 10_000, size: 10_000 });
      for (const field of Object.keys(container)) if (ruleOf(field).container) known.add(`container.${field}`);
      for (const { type, values } of streams)
        for (const field of Object.keys(values)) if (ruleOf(field).stream) known.add(`${type}.${field}`);
    }
    const measured = Object.entries(FIELDS).flatMap(([field, { measured: kinds = [] }]) =>
      kinds.map((kind) => `${kind}.${field}`),
    );
    assert.deepEqual(measured.sort(), [...known].sort());
  });

  it('decides by the rule, without a confidence, where it has learned nothing', () => {
    const [level] = disputesOf(picture({}, { Format_Level: '4.1' }));
    assert.deepEqual(judge(level!, null), {
      chosen: 'mediainfo',
      confidence: undefined,
      reason: 'it reads the headers of the stream',
    });
    assert.deepEqual(judge(level!, 'ffprobe'), {
      chosen: 'ffprobe',
      confidence: undefined,
      reason: 'preferred by the caller; otherwise mediainfo: it reads the headers of the stream',
    });
  });

  it('follows the rule in fields where the rule is better, with its measured confidence', () => {
    for (const field of ['container.duration', 'container.bitrate.average']) {
      for (const ruled of ['ffprobe', 'mediainfo'] as const) {
        const { chosen, right } = decide(field, ruled, {
          ffprobe: ruled === 'ffprobe' ? 0.1 : 0.9,
          mediainfo: ruled === 'ffprobe' ? 0.9 : 0.1,
        });
        assert.equal(chosen, ruled, field);
        assert.ok(right[chosen] > 0.75 && right.ffprobe + right.mediainfo <= 1, JSON.stringify(right));
      }
    }
    assert.equal(decide('video.duration', 'ffprobe', { ffprobe: 0.1, mediainfo: 0.9 }).chosen, 'mediainfo');
  });

  it('reports the container bitrate of ffprobe if the two disagree', () => {
    const input = picture({}, {}, { ffprobe: { bit_rate: '900000' }, mediainfo: { OverallBitRate: '1900000' } });
    const disputed = disputesOf(input).find(
      ({ part, compared }) => part.kind === 'container' && compared.field === 'bitrate.average',
    );
    assert.ok(disputed, 'the bitrate of the container is disputed');
    assert.deepEqual([judge(disputed, null).chosen, judge(disputed, null).confidence], ['ffprobe', 0.86]);
  });

  it('chooses no value that was wrong more often than right, unless the caller prefers one', () => {
    class Unsure extends Model {
      override of(tool: string): number {
        return tool === 'ffprobe' ? 0.23 : 0.1;
      }
    }
    const by = new Unsure(
      JSON.parse(readFileSync(new URL('../../src/media/report/weights.json', import.meta.url), 'utf8')) as Weights,
    );
    const [frames] = disputesOf(picture({}, { FrameCount: '98' }));
    assert.deepEqual(judge(frames!, null, by), {
      chosen: null,
      confidence: undefined,
      reason: 'not known: in test files ffprobe was right in 23 of 100, mediainfo was right in 10 of 100 such cases',
    });
    assert.deepEqual(
      [judge(frames!, 'mediainfo', by).chosen, judge(frames!, 'mediainfo', by).confidence],
      ['mediainfo', 0.1],
    );
  });

  it('knows that FLV does not declare more than two channels', () => {
    const [channels] = disputesOf(inputOf('quad_sound.flv')).filter(({ compared }) => compared.field === 'channels');
    assert.equal(judge(channels!, null).chosen, 'ffprobe');
  });
});

function disputesOf(input: ReturnType<typeof picture>): Context[] {
  const comparison = compare(
    readFfprobe(input.ffprobe!.output, input.ffprobe!.version),
    readMediainfo(input.mediainfo!.output, input.mediainfo!.version),
  );
  return comparison.parts.flatMap((part) => {
    const around = surroundingsOf(comparison, part);
    const disputed = part.fields.filter(({ agreement }) => agreement === 'disputed');
    return disputed.map((compared) => ({ comparison, part, compared, around }));
  });
}

describe('report: manual rules', () => {
  const ruled = (field: string, ffprobe: object, mediainfo: object, container: Parameters<typeof picture>[2] = {}) => {
    const found = disputesOf(picture(ffprobe, mediainfo, container)).find(({ compared }) => compared.field === field);
    assert.ok(found, `${field} is disputed`);
    return rule(found).chosen;
  };
  const ts = { ffprobe: { format_name: 'mpegts' }, mediainfo: { Format: 'MPEG-TS' } };
  const cases: [string, ReturnType<typeof rule>['chosen'], object, object, Parameters<typeof picture>[2]?][] = [
    ['duration', 'mediainfo', { duration: '9.0' }, {}],
    ['duration', 'ffprobe', {}, { Duration: '9.0' }],
    ['frame_rate', 'ffprobe', {}, { FrameRate: '24.100' }],
    ['frame_rate', 'mediainfo', { avg_frame_rate: '241/10' }, {}],
    ['frame_rate', 'ffprobe', { avg_frame_rate: '241/10' }, { FrameRate_Mode: 'VFR' }],
    ['frames_count', 'ffprobe', {}, { FrameCount: '99' }],
    ['frames_count', 'mediainfo', {}, { FrameCount: '99' }, ts],
    ['bitrate.average', 'mediainfo', { bit_rate: '9000000' }, {}],
    ['bitrate.average', 'ffprobe', {}, { BitRate: '9000000' }],
    ['bitrate.average', 'ffprobe', {}, { BitRate: '900000' }],
    ['bitrate.average', 'mediainfo', {}, { BitRate: '900000' }, ts],
    ['scan_type', 'mediainfo', {}, { ScanType: 'Interlaced' }],
    ['color.primaries', 'mediainfo', { color_primaries: 'bt709' }, { colour_primaries: 'BT.2020' }],
    ['codec.profile', 'mediainfo', {}, { Format_Profile: 'Main' }],
    ['codec.name', 'ffprobe', { codec_name: 'hevc' }, {}],
    [
      'duration',
      'mediainfo',
      { duration: '9.0', nb_frames: undefined },
      { FrameCount: '225' },
      { mediainfo: { extra: { IsTruncated: 'Yes' } } },
    ],
  ];
  for (const [index, [field, chosen, ...given]] of cases.entries())
    it(`${index + 1}. ${field}: ${chosen}`, () => assert.equal(ruled(field, ...given), chosen));
});
