import assert from 'node:assert/strict';
import type { Input } from '../../../../src/service/api/http/request_context.ts';
import { parsePairs, makeReader } from '../../../../src/service/api/http/input/read_fields.ts';
import { ProbeFileSchema, type ProbeFile } from '../../../../src/service/api/probe/file_request.ts';
import { FFPROBE_OPTIONS } from '../../../../src/media/tools/ffprobe_options.ts';

const read = makeReader<ProbeFile>(ProbeFileSchema);
const query = (text: string): Input => ({ form: 'query', pairs: parsePairs(text, 'query') });
const form = (text: string): Input => ({ form: 'form', pairs: parsePairs(text, 'body') });
const json = (value: unknown): Input => ({ form: 'json', value });
type Read = Record<string, unknown> & Record<'ffprobe' | 'mediainfo', Record<string, unknown>>;
const get = (input: Input) => read(input) as unknown as Read;

describe('fields of a probe request', () => {
  it('have the documented defaults', () => {
    const { ffprobe, mediainfo, ...rest } = get(json({ url: 'u' }));
    assert.deepEqual(rest, {
      url: 'u',
      timeout: 65_000,
      queue_timeout: 60_000,
      only: null,
      output: 'json',
      inject_json: false,
      webhook_url: null,
      webhook_format: 'plain',
      policy: null,
      headers: null,
      cookies: null,
      credential: null,
      probe_report: { enabled: true, diff: true, prefer: null, frames: 'auto' },
      mediastreamvalidator: {
        enabled: false,
        parse_playlist_only: true,
        measure_all_segments: false,
        enable_cli_output: false,
        enable_playlist_text: false,
      },
      c2pa: { enabled: false },
      cache: { max_age: null },
      qc: {
        enabled: false,
        timeout: 650_000,
        black_min: 2,
        black_pixel: 0.1,
        freeze_min: 2,
        freeze_noise: -60,
        silence_min: 2,
        silence_noise: -60,
        phase_min: 2,
        letterbox_min: 2,
        test_bars_min: 2,
        test_tone_min: 2,
        pictures: false,
        private_pictures: false,
        integrity: false,
        sha256: null,
        md5: null,
      },
      timeline: { enabled: false },
    });
    const { enabled, version, timeout, ...options } = ffprobe;
    assert.deepEqual(
      [enabled, version, timeout, mediainfo['parse_speed'], mediainfo['output'], mediainfo['language']],
      // Without a version: the latest, or the one that the policy is written for.
      [true, undefined, 60_000, 0.5, 'JSON', 'raw'],
    );
    assert.deepEqual(options, Object.fromEntries(FFPROBE_OPTIONS.map((option) => [option.name, option.default])));
    const trueOnes = Object.keys(options).filter((name) => options[name] === true);
    assert.deepEqual(trueOnes, ['show_format', 'show_streams', 'show_programs', 'show_chapters', 'show_error']);
  });

  it('are the same for a query without values and a JSON body without members', () => {
    assert.deepEqual(
      JSON.parse(JSON.stringify(get(query('url=u&timeout=&ffprobe[version]=&only=&ffprobe=')))),
      JSON.parse(JSON.stringify(get(json({ url: 'u' })))),
    );
  });

  for (const [text, expected] of [
    ['true', true],
    ['TRUE', true],
    ['t', true],
    ['T', true],
    ['1', true],
    ['false', false],
    ['False', false],
    ['f', false],
    ['0', false],
  ] as const) {
    it(`as text: ${text} is ${expected}`, () =>
      assert.equal(get(query(`url=u&inject_json=${text}`))['inject_json'], expected));
  }

  it('as text: numbers, enums and strings', () => {
    const got = get(
      query(
        'url=http%3A%2F%2Fa%2F%3Fx%3D1%2B2&timeout=%2B1500&ffprobe%5Bprobesize%5D=5000000&' +
          'mediainfo[parse_speed]=.25&ffprobe[show_log]=trace&ffprobe[select_streams]=v:0',
      ),
    );
    assert.deepEqual(
      [
        got['url'],
        got['timeout'],
        got.ffprobe['probesize'],
        got.mediainfo['parse_speed'],
        got.ffprobe['show_log'],
        got.ffprobe['select_streams'],
      ],
      ['http://a/?x=1+2', 1500, 5_000_000, 0.25, 'trace', 'v:0'],
    );
  });

  it('an object in a form may be one JSON string', () => {
    assert.equal(get(form('url=u&ffprobe=%7B%22show_frames%22%3Atrue%7D')).ffprobe['show_frames'], true);
  });

  it('above the maximum are lowered to it', () => {
    const got = get(json({ url: 'u', timeout: 9e9, queue_timeout: 600_000, ffprobe: { timeout: 650_001 } }));
    assert.deepEqual([got['timeout'], got['queue_timeout'], got.ffprobe['timeout']], [650_000, 60_000, 650_000]);
  });

  it('accept null where null is the default', () => {
    const got = get(
      json({
        url: 'u',
        only: null,
        webhook_url: null,
        ffprobe: { show_entries: null, show_log: null, skip_frame: null },
        probe_report: { prefer: null },
      }),
    );
    assert.equal(got.ffprobe['show_log'], null);
  });

  const REFUSED: [Input, string][] = [
    [json({ url: '' }), 'url: must not be empty'],
    [json({ url: 1 }), 'url: must be a string'],
    [json({ url: null }), 'url: must be a string'],
    [json({ url: 'x'.repeat(8193) }), 'url: must be at most 8192 characters long'],
    [json([]), 'body: must be a JSON object'],
    [json('text'), 'body: must be a JSON object'],
    [json(null), 'body: must be a JSON object'],
    [json({ url: 'u', timeout: '65000' }), 'timeout: must be an integer'],
    [json({ url: 'u', timeout: 1.5 }), 'timeout: must be an integer'],
    [json({ url: 'u', timeout: null }), 'timeout: must be an integer'],
    [json({ url: 'u', timeout: 0 }), 'timeout: must be at least 1'],
    [query('url=u&timeout=-5'), 'timeout: must be at least 1'],
    [query('url=u&timeout=1e3'), 'timeout: must be an integer'],
    [query('url=u&timeout=0x10'), 'timeout: must be an integer'],
    [query('url=u&timeout=99999999999999999999'), 'timeout: must be an integer'],
    [query('url=u&inject_json=yes'), 'inject_json: must be true or false'],
    [json({ url: 'u', inject_json: 1 }), 'inject_json: must be true or false'],
    [json({ url: 'u', inject_json: 'true' }), 'inject_json: must be true or false'],
    [
      query('url=u&only=nothing'),
      'only: must be one of ffprobe, mediainfo, probe_report, mediastreamvalidator, c2pa, qc or null',
    ],
    [json({ url: 'u', only: 5 }), 'only: must be a string or null'],
    [query('url=u&output=xml'), 'output: must be one of json'],
    [query('url=u&tiemout=1'), 'tiemout: is unknown; did you mean timeout?'],
    [query('url=u&show_frames=1'), 'show_frames: is unknown; did you mean ffprobe.show_frames?'],
    [json({ url: 'u', ffprobe: { showFrame: true } }), 'ffprobe.showFrame: is unknown; did you mean show_frames?'],
    [json({ url: 'u', ffprobe: true }), 'ffprobe: must be an object'],
    [json({ url: 'u', ffprobe: null }), 'ffprobe: must be an object'],
    [query('url=u&ffprobe=true'), 'ffprobe: must be an object'],
    [form('url=u&ffprobe=true'), 'ffprobe: must be an object, in brackets or as a JSON string'],
    [form('url=u&ffprobe=[1]'), 'ffprobe: must be an object, in brackets or as a JSON string'],
    [form('url=u&ffprobe={}&ffprobe[enabled]=1'), 'ffprobe: is given more than once'],
    [query('url=u&url=v'), 'url: is given more than once'],
    [query('url=u&ffprobe[version]=3.3&ffprobe[version]=3.3'), 'ffprobe.version: is given more than once'],
    [query('url[a]=u'), 'url: must be a string'],
    [
      query('url=u&ffprobe[a][b]=1'),
      '"ffprobe[a][b]": is not a valid field name; use name=value or name[option]=value',
    ],
    [query('url=u&ffprobe[=1'), '"ffprobe[": is not a valid field name; use name=value or name[option]=value'],
    [query('url=u&ffprobe[]=1'), '"ffprobe[]": is not a valid field name; use name=value or name[option]=value'],
    [query('url=u&=1'), '"": is not a valid field name; use name=value or name[option]=value'],
    [query('url=u&__proto__=1'), '__proto__: is unknown'],
    [query('url=u&constructor[prototype]=1'), 'constructor: is unknown'],
    [query('url=u&foo=1'), 'foo: is unknown'],
    [json(JSON.parse('{"url":"u","__proto__":{"only":"c2pa"}}')), '__proto__: is unknown'],
    [query('url=u&mediainfo[parse_speed]=1.5'), 'mediainfo.parse_speed: must be at most 1'],
    [
      query('url=u&mediainfo[language]=file:///etc/passwd'),
      'mediainfo.language: has an invalid format or contains control characters',
    ],
    [
      json({ url: 'u', ffprobe: { select_streams: 'a\u0000b' } }),
      'ffprobe.select_streams: must not contain U+0000 or an unpaired surrogate',
    ],
    [
      json({ url: 'u', ffprobe: { select_streams: 'a\ud800' } }),
      'ffprobe.select_streams: must not contain U+0000 or an unpaired surrogate',
    ],
    [json({ url: 'u', ffprobe: { version: 7 } }), 'ffprobe.version: must be a string'],
    [json({ url: 'u', mediastreamvalidator: true }), 'mediastreamvalidator: must be an object'],
  ];
  for (const [input, message] of REFUSED) {
    const sent = JSON.stringify(input.form === 'json' ? input.value : input.pairs).slice(0, 90);
    it(`are refused: ${input.form} ${sent}`, () => {
      assert.throws(
        () => read(input),
        (error: { status?: number; message?: string; name?: string }) => {
          assert.deepEqual([error.name, error.status, error.message], ['ApiError', 400, message]);
          return true;
        },
      );
    });
  }

  const LOST = (name: string): string =>
    `url: lost a part of its query: ${name} became a field of the request. Encode the address, & as %26 ` +
    '(curl: -G --data-urlencode "url=…"), or send it in a JSON body';
  for (const [of, sent, lost] of [
    ['S3', 'https://b.s3/a.mp4?X-Amz-Algorithm=AWS4&X-Amz-Expires=60&X-Amz-Signature=00', 'X-Amz-Expires'],
    ['S3, after another', 'https://b/a.mp4?X-Amz-Date=1&versionId=7&X-Amz-Signature=0', 'X-Amz-Signature'],
    ['S3 of before', 'https://b/a.mp4?AWSAccessKeyId=K&Expires=1&Signature=s', 'Expires'],
    ['Google Cloud Storage', 'https://storage/a.mp4?X-Goog-Algorithm=G&X-Goog-Signature=0', 'X-Goog-Signature'],
    ['Azure', 'https://a.blob/c/a.mp4?sv=2022-11-02&sr=b&sig=s&se=2026&sp=r', 'sig'],
    ['CloudFront', 'https://d.cloudfront/a.mp4?Policy=p&Signature=s&Key-Pair-Id=K', 'Signature'],
    ['CloudFront, the policy behind', 'https://d.cloudfront/a.mp4?x=1&Policy=p&Key-Pair-Id=K', 'Policy'],
  ] as const)
    it(`name the lost & of a signed address: ${of}`, () => {
      for (const input of [query(`url=${sent}`), form(`timeout=5&url=${sent}`)])
        assert.throws(() => read(input), { status: 400, message: LOST(lost) });
      const [first, ...rest] = sent.split('&');
      assert.equal(get(query(`url=${[first, ...rest].join('%26')}`))['url'], sent);
    });

  const URLS =
    'urls: is unknown: a request reads one source. Send a request for each; POST /v1/compare with urls says how two ' +
    'of them differ';
  for (const [text, message] of [
    ['url=https://b/a.mp4&Signature=s', 'Signature: is unknown'],
    ['url=https://b/a.mp4&Policy=web', 'Policy: is unknown; did you mean policy?'],
    ['urls=https://b/a.mp4&url=https://b/b.mp4', URLS],
    ['urls=https://b/a.mp4', URLS],
  ] as const)
    it(`are refused: ${text}`, () => assert.throws(() => read(query(text)), { status: 400, message }));

  for (const [text, message] of [
    ['url=%', 'url: is not valid percent-encoded UTF-8'],
    ['url=%ff', 'url: is not valid percent-encoded UTF-8'],
    ['%zz=1', 'query: is not valid percent-encoded UTF-8'],
    [`${'a=1&'.repeat(300)}`, 'query: has more than 256 fields'],
    [`${'n'.repeat(300)}=1`, `query: the name "${'n'.repeat(64)}…" is too long`],
  ] as const) {
    it(`are refused in a malformed query: ${text.slice(0, 20)}`, () =>
      assert.throws(() => parsePairs(text, 'query'), { status: 400, message }));
  }

  it('never change Object.prototype', () => {
    for (const input of [
      query('__proto__[polluted]=1'),
      query('constructor[prototype]=1'),
      json(JSON.parse('{"url":"u","ffprobe":{"__proto__":{"polluted":1}}}')),
    ]) {
      assert.throws(() => read(input), { status: 400 });
    }
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  });
});
