import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { evaluate } from '../../src/media/policy/evaluate.ts';
import { readPolicyText } from '../../src/media/policy/read.ts';
import type { Policy, Verdict } from '../../src/media/policy/schema.ts';
import type { Facts } from '../../src/media/policy/types.ts';
import { Host } from '../hls/serve.ts';
import { DAMAGE, FILE, QUIET, UNREAD, WHOLE } from '../qc/reports.ts';
import { outputFacts } from './facts.ts';

const root = join(import.meta.dirname, '..', '..');
const FILES = globSync(join(import.meta.dirname, 'outputs', '*.json')).map((file) => basename(file, '.json'));
const policyOf = (name: string): Policy =>
  readPolicyText(readFileSync(join(root, 'charts/probeyard/files/policies', `${name}.yaml`), 'utf8'), 'text/yaml')
    .policy;
const wrong = ({ rules }: Verdict): string[] =>
  rules.filter(({ outcome }) => outcome === 'fail' || outcome === 'warn').map(({ name }) => name);

/** What a file of each is told: nothing, or the rules that it breaks. */
const CASES: Readonly<Record<string, Record<string, string[]>>> = {
  'web-mp4': {
    'web.mp4': [],
    'interlaced.mp4': ['fast-start', 'progressive', 'audio-channels'],
    'fast.mp4': ['video-level', 'frame-rate'],
  },
  'prores-mezzanine': {
    'mezzanine.mov': [],
    'interlaced.mov': ['bit-rate'],
    'broken.mov': ['profile', 'bit-rate', 'size', 'pixel-shape', 'scan', 'color', 'audio-codec', 'audio-sample-rate'],
    'fifty.mov': ['profile', 'bit-rate', 'frame-rate', 'color', 'audio-sample-rate', 'audio-depth'],
  },
  'ffv1-matroska-archive': {
    'archive.mkv': [],
    'two_tracks.mkv': ['audio-codec', 'audio-sample-rate'],
    'cut.mkv': ['intact'],
    'long_gop.mkv': [
      'every-frame-for-itself',
      'slice-checksums',
      'picture',
      'color-described',
      'display-shape',
      'audio-sample-rate',
      'audio-depth',
    ],
  },
  'podcast-audio': {
    'podcast.mp3': [],
    'podcast_bad.mp3': ['bit-rate', 'sample-rate', 'title', 'has-cover'],
    'small_cover.mp3': ['title', 'cover-is-square', 'cover-size'],
    'video_podcast.mp4': ['no-video', 'sample-rate', 'channels', 'title', 'has-cover'],
  },
};

/** Rules that no file of these was seen to break, or to keep. */
function oneSided(policy: Policy, facts: readonly Facts[]): string[] {
  const seen = new Map<string, Set<string>>(policy.rules.map(({ name }) => [name, new Set()]));
  for (const one of facts)
    for (const { name, outcome } of evaluate(policy, one).rules)
      seen.get(name)!.add(outcome === 'warn' ? 'fail' : outcome);
  return [...seen].filter(([, outcomes]) => !outcomes.has('pass') || !outcomes.has('fail')).map(([name]) => name);
}

describe('the policies of the chart', () => {
  const facts = new Map(FILES.map((name) => [name, outputFacts(name)]));

  for (const [name, files] of Object.entries(CASES)) {
    it(`${name}: every rule is kept by one real file and broken by another`, () => {
      assert.deepEqual(oneSided(policyOf(name), [...facts.values()]), []);
    });
    for (const [file, expected] of Object.entries(files))
      it(`${name}: ${file} ${expected.length === 0 ? 'passes' : `breaks ${expected.join(', ')}`}`, () => {
        const verdict = evaluate(policyOf(name), facts.get(file)!);
        assert.deepEqual(wrong(verdict), expected);
        if (expected.length === 0) assert.equal(verdict.outcome, 'pass');
      });
  }
});

describe('archive-integrity', () => {
  const judged = (name: string, found: object): Verdict => {
    const { tools, ...facts } = outputFacts(name);
    const output = JSON.stringify({ ...QUIET, ...found });
    const checks = { name: 'qc', version: '7.1', success: true, output } as const;
    return evaluate(policyOf('archive-integrity'), { ...facts, tools: [...tools, checks] });
  };

  for (const [what, found, expected, name = 'archive.mkv'] of [
    ['passes a file that is whole', { integrity: WHOLE, file: FILE }, []],
    ['passes one without a hash from before', { integrity: WHOLE, file: { ...FILE, as_given: undefined } }, []],
    ['finds decode errors', DAMAGE['errors']!, ['no-decode-errors']],
    ['finds wrong checksums', DAMAGE['sums']!, ['checksums']],
    ['finds what was not searched', DAMAGE['cut']!, ['searched-to-the-end', 'read-whole']],
    ['finds another hash', DAMAGE['other']!, ['as-in-the-manifest']],
    [
      'finds a stream that was left out',
      {
        integrity: WHOLE,
        file: FILE,
        not_checked: [{ stream: 9, type: 'audio', why: 'only the first 8 are checked' }],
      },
      ['all-streams-checked'],
    ],
    ['finds a stream without a decoder', { integrity: UNREAD, file: FILE }, ['all-streams-decoded']],
    ['warns of no checksum', { integrity: { ...WHOLE, checksums: [] }, file: FILE }, ['has-checksums']],
    ['finds checks that ended early', { integrity: WHOLE, file: FILE, cut: 'late' }, ['decodes-to-the-end']],
    ['finds what the report warns of', { integrity: WHOLE, file: FILE }, ['intact'], 'cut.mkv'],
  ] as [string, object, string[], string?][])
    it(what, () => {
      const verdict = judged(name, found);
      assert.deepEqual(wrong(verdict), expected);
      if (expected.length === 0) assert.equal(verdict.outcome, 'pass', JSON.stringify(verdict.rules));
    });

  it('fails where nothing was looked for', () => assert.equal(judged('archive.mkv', {}).outcome, 'fail'));
});

const MEDIA =
  '#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:6\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-INDEPENDENT-SEGMENTS\n';
const segments = (before = ''): string => `${before}#EXTINF:6,\na.ts\n#EXTINF:6,\nb.ts\n#EXT-X-ENDLIST\n`;
const VARIANT =
  '#EXT-X-STREAM-INF:BANDWIDTH=1400000,AVERAGE-BANDWIDTH=1200000,CODECS="avc1.640020,mp4a.40.2",RESOLUTION=1280x720,' +
  'FRAME-RATE=25.000,VIDEO-RANGE=SDR,CLOSED-CAPTIONS=NONE\n';

const PLAYLISTS: Readonly<Record<string, Record<string, string>>> = {
  good: {
    'main.m3u8':
      `#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-INDEPENDENT-SEGMENTS\n${VARIANT}v1.m3u8\n` +
      `${VARIANT.replace('1400000', '2800000').replace('1200000', '2400000')}v2.m3u8\n` +
      '#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=200000,AVERAGE-BANDWIDTH=150000,CODECS="avc1.640020",RESOLUTION=1280x720,' +
      'VIDEO-RANGE=SDR,URI="i.m3u8"\n',
    'v1.m3u8': MEDIA + segments('#EXT-X-KEY:METHOD=AES-128,URI="https://keys.example.com/1"\n'),
    'v2.m3u8': MEDIA + segments('#EXT-X-KEY:METHOD=AES-128,URI="https://keys.example.com/1"\n'),
    'i.m3u8':
      `${MEDIA}#EXT-X-I-FRAMES-ONLY\n` + segments('#EXT-X-KEY:METHOD=AES-128,URI="https://keys.example.com/1"\n'),
  },
  bad: {
    'main.m3u8':
      '#EXTM3U\n#EXT-X-VERSION:12\n' +
      '#EXT-X-STREAM-INF:BANDWIDTH=1400000,RESOLUTION=1280x720,FRAME-RATE=120.000\nv1.m3u8\n',
    'v1.m3u8':
      '#EXTM3U\n#EXT-X-VERSION:12\n#EXT-X-TARGETDURATION:12\n' +
      '#EXT-X-KEY:METHOD=HOME-MADE,URI="https://keys.example.com/1"\n#EXTINF:12,\na.ts\n#EXT-X-ENDLIST\n',
  },
};

describe('the policies of the chart: HLS', () => {
  let host: Host;
  before(async () => {
    host = await new Host().start();
  });
  after(() => host.stop());

  it('hls-apple: every rule is kept by one presentation and broken by another', async () => {
    const policy = policyOf('hls-apple');
    const facts: Facts[] = [];
    for (const files of Object.values(PLAYLISTS)) {
      const output = JSON.stringify(await host.report(host.example(files)));
      facts.push({ tools: [{ name: 'msv', version: '1.0.0', success: true, output }] });
    }
    assert.deepEqual(
      oneSided(policy, facts),
      [],
      JSON.stringify(
        facts.map((one) => evaluate(policy, one).rules.map(({ name, outcome, message }) => [name, outcome, message])),
        null,
        1,
      ),
    );
    assert.deepEqual(wrong(evaluate(policy, facts[0]!)), []);
  });
});
