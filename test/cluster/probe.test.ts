import assert from 'node:assert/strict';
import { cluster, eventually, jobOf, stateOf, type Cluster, type Envelope } from './fixture.ts';

interface ToolPart {
  success: boolean;
  duration: number;
  usage: number;
  error?: string;
  response: unknown;
}
const part = (envelope: Envelope, tool: string): ToolPart | undefined => envelope[tool] as ToolPart | undefined;

describe('a probe from the request to the envelope', function () {
  this.timeout(120_000);
  let c: Cluster;
  let source: string;
  before(async () => {
    c = await cluster();
    source = `${(await c.origin()).url}/tiny.mp4`;
  });
  after(() => c.close());

  it('returns the output of both tools, with the source as the caller wrote it', async () => {
    const { status, json, headers } = await c.probe({ url: source });
    assert.equal(status, 200);
    assert.equal(json.success, true);
    assert.match(json.metadata?.request_id ?? '', /^[0-9a-f-]{36}$/);
    assert.equal(headers.get('x-request-id'), json.metadata?.request_id);
    const ffprobe = part(json, 'ffprobe')?.response as {
      format: { filename: string; nb_streams: number };
      streams: { codec_type: string }[];
    };
    assert.equal(ffprobe.format.filename, source);
    assert.deepEqual(ffprobe.streams.map(({ codec_type }) => codec_type).sort(), ['audio', 'video']);
    const mediainfo = part(json, 'mediainfo')?.response as { media: { '@ref': string; track: { '@type': string }[] } };
    assert.equal(mediainfo.media['@ref'], source);
    assert.deepEqual(
      mediainfo.media.track.map((track) => track['@type']),
      ['General', 'Video', 'Audio'],
    );
    assert.ok((json.metadata?.io_usage ?? 0) > 1_000, 'bytes read were counted');
  });

  it('reads the origin once for both tools', async () => {
    const origin = await c.origin();
    const { json } = await c.probe({ url: `${origin.url}/tiny.mp4` });
    assert.equal(json.success, true);
    const { requests } = origin;
    // A host that took long to connect is far: the end is asked for before the size is known. A busy machine is far.
    const early = requests.filter(({ range }) => range?.startsWith('bytes=-')).length;
    assert.ok(early <= 1, JSON.stringify(requests));
    assert.equal(requests.length, 1 + early, JSON.stringify(requests));
    const size = Number((await fetch(`${origin.url}/tiny.mp4`)).headers.get('content-length'));
    const most = size * (1 + early) * 1.1;
    assert.ok((json.metadata?.io_usage ?? 0) <= most, `${json.metadata?.io_usage} bytes of ${size}`);
  });

  it('works the same as GET with bracket notation', async () => {
    const { status, json } = await c.get(
      `/v1/probe/file?url=${encodeURIComponent(source)}&` +
        'mediainfo[enabled]=false&ffprobe[show_format]=true&' +
        'ffprobe[show_streams]=false',
    );
    assert.equal(status, 200);
    assert.equal(part(json, 'mediainfo'), undefined);
    assert.deepEqual(
      Object.keys(part(json, 'ffprobe')?.response as object).filter((key) => key === 'streams'),
      [],
    );
  });

  it('only, inject_output and inject_json change the response', async () => {
    const only = await c.probe({ url: source, only: 'mediainfo' });
    assert.equal(part(only.json, 'ffprobe'), undefined);
    assert.equal(part(only.json, 'mediainfo')?.success, true);
    const bare = await c.probe({ url: source, only: 'ffprobe', inject_output: true });
    assert.ok('format' in bare.json && !('success' in bare.json), bare.text.slice(0, 200));
    const injected = await c.probe({ url: source, inject_json: true });
    const response = part(injected.json, 'ffprobe')?.response as { format: object; mediainfo: { media: object } };
    assert.ok(response.format && response.mediainfo.media);
  });

  it('is read back by its id, by its owner alone', async () => {
    const { json } = await c.probe({ url: source });
    const id = json.metadata?.request_id ?? '';
    const again = await c.get(`/v1/probe/${id}`);
    assert.equal(again.status, 200);
    assert.deepEqual(part(again.json, 'ffprobe')?.response, part(json, 'ffprobe')?.response);
    const stranger = await c.newToken();
    assert.equal((await c.get(`/v1/probe/${id}`, stranger.token)).status, 404);
  });

  it('runs the exact version that is named, each on the same warm pod', async () => {
    for (const version of ['9.0', '4.3', '5.1']) {
      const { status, json } = await c.probe({ url: source, only: 'ffprobe', ffprobe: { version } });
      assert.equal(status, 200, version);
      assert.equal(part(json, 'ffprobe')?.success, true, `${version}: ${part(json, 'ffprobe')?.error}`);
    }
    const unknown = await c.probe({ url: source, ffprobe: { version: '1.0' } });
    assert.equal(unknown.status, 400);
    assert.match(unknown.json.error ?? '', /1\.0.*9\.0/s);
  });

  it('has a row in kubectl with its state, and conditions with the reason', async () => {
    const { json } = await c.probe({ url: source });
    const id = json.metadata?.request_id ?? '';
    const job = await eventually('the status shows the end', 10, async () => {
      const found = await jobOf(c.kube, id);
      return stateOf(found) === 'Completed' && found;
    });
    assert.equal(job.status?.attempts, 1);
    assert.match(await c.kubectl('-n', 'probeyard', 'get', 'pj', id), /file\s+http:\/\/.*tiny\.mp4\s+\d+\s+Completed/);
    const described = await c.kubectl('-n', 'probeyard', 'describe', 'pj', id);
    assert.match(described, /Type:\s+Succeeded/);
    assert.match(described, /ffprobe 9\.0: ok/);
  });

  const bad: [string, object, number, RegExp][] = [
    ['a file: address', { url: 'file:///etc/passwd' }, 400, /url must begin with one of/],
    ['no url', {}, 400, /url/],
    ['an unknown name', { url: 'http://example.com/a', ffprob: {} }, 400, /ffprob.*ffprobe/],
    [
      'all tools disabled',
      {
        url: 'http://example.com/a',
        ffprobe: { enabled: false },
        mediainfo: { enabled: false },
        probe_report: { enabled: false },
      },
      400,
      /./,
    ],
  ];
  for (const [title, body, status, message] of bad) {
    it(`${title} is ${status}`, async () => {
      const answer = await c.probe(body);
      assert.equal(answer.status, status, answer.text);
      assert.match(answer.json.error ?? '', message);
    });
  }

  it('an unreachable origin or its 404 is 404; a file that is not media is a failure of the tools', async () => {
    const origin = await c.origin((request, response) => {
      if (request.url?.startsWith('/text')) response.writeHead(200, { 'content-length': 5 }).end('hello');
      else response.writeHead(404).end();
    });
    const missing = await c.probe({ url: `${origin.url}/nothing.mp4` });
    assert.equal(missing.status, 404, missing.text);
    await origin.close();
    const gone = await c.probe({ url: `${origin.url}/nothing.mp4` });
    assert.equal(gone.status, 404, gone.text);
    const text = await c.origin(
      (_request, response) => void response.writeHead(200, { 'content-length': 5 }).end('hello'),
    );
    const none = await c.probe({ url: `${text.url}/x.mp4` });
    assert.equal(none.status, 200, none.text);
    assert.equal(part(none.json, 'ffprobe')?.success, false);
    assert.equal(part(none.json, 'ffprobe')?.error, 'the source is not media: it is text, 5 B');
  });

  it('credentials of a source appear in no response, resource, event or log', async () => {
    const secret = 'hunter2-very-secret';
    const origin = await c.origin();
    const url = `${origin.url.replace('http://', `http://someone:${secret}@`)}/tiny.mp4?signature=${secret}`;
    const { status, text, json } = await c.probe({ url });
    assert.equal(status, 200, text);
    assert.doesNotMatch(text, new RegExp(secret));
    const id = json.metadata?.request_id ?? '';
    assert.doesNotMatch(await c.kubectl('-n', 'probeyard', 'get', 'pj', id, '-o', 'yaml'), new RegExp(secret));
    assert.doesNotMatch(await c.kubectl('get', 'events', '-A', '-o', 'json'), new RegExp(secret));
    for (const component of ['api', 'controller']) {
      assert.doesNotMatch(
        await c.kubectl('-n', 'probeyard', 'logs', '-l', `app.kubernetes.io/component=${component}`, '--tail=2000'),
        new RegExp(secret),
      );
    }
    const runners = await c.kubectl(
      '-n',
      'probeyard-runners',
      'get',
      'pods',
      '-l',
      'app.kubernetes.io/component=runner',
      '--field-selector=status.phase=Running',
      '-o',
      'name',
    );
    for (const runner of runners
      .trim()
      .split('\n')
      .filter((name) => name !== '')) {
      // A runner that served credentials ends afterwards, so its logs may be gone.
      const logs = await c
        .kubectl('-n', 'probeyard-runners', 'logs', runner, '--all-containers', '--tail=2000')
        .catch(() => '');
      assert.doesNotMatch(logs, new RegExp(secret));
    }
    assert.doesNotMatch(await c.sql(`select * from requests where id = '${id}'`), new RegExp(secret));
  });
});
