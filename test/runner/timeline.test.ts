/** The timeline in a real agent: from scripts that print packets, and from the tools' own binaries. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { unpack } from '../../images/archive.ts';
import { cachedTools } from '../../images/cached.ts';
import type { ProbeReport } from '../../src/media/report/schema.ts';
import type { Timeline } from '../../src/media/timeline/schema.ts';
import { Rig } from './agent_rig.ts';
import type { TextBody } from '../result/text_body.ts';

const built = (await cachedTools()).filter(({ entry, image }) => entry.tool === 'ffprobe' && image !== undefined);
const clip = readFileSync(join(import.meta.dirname, '..', 'fixtures', 'tiny.mp4'));

describe('a timeline in an agent', function () {
  this.timeout(60_000);
  const rig = new Rig();
  before(async () => {
    await rig.start();
    await rig.newAgent();
  });
  beforeEach(() => {
    rig.serve = (request, response) => {
      const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
      const part = clip.subarray(Number(from), to === '' ? undefined : Number(to) + 1);
      const head = { 'content-type': 'video/mp4', 'accept-ranges': 'bytes', 'content-length': part.length };
      if (request.headers.range === undefined) response.writeHead(200, head);
      else {
        const range = `bytes ${from}-${Number(from) + part.length - 1}/${clip.length}`;
        response.writeHead(206, { ...head, 'content-range': range });
      }
      response.end(part);
    };
  });
  after(() => rig.stop());

  const told = ({ timeline }: TextBody): Timeline => JSON.parse(timeline?.output ?? 'null') as Timeline;
  /** `packets`: what the run over packets does; the other run prints JSON. */
  const printing = (
    packets: string,
    rest = 'echo \'{"streams":[{"index":0,"codec_type":"video","codec_name":"vp9"}]}\'',
  ) => rig.script(`case "$*" in *packet=stream_index*) ${packets} ;; *) ${rest} ;; esac`);
  const timed = { assignment: { timeline: true } };

  it('comes from a further run, and leaves the tool as it is', async () => {
    const tool = printing('for i in 0 1 2; do echo "packet,0,$i.0,$i.0,1.0,10,K__"; done; echo stream,0,h264,video');
    const { body } = await rig.run(rig.go([tool], timed));
    assert.deepEqual([body.tools.length, body.tools[0]?.success], [1, true]);
    assert.match(body.tools[0]!.output!, /vp9/);
    const { success, error, durationMs, usageMs } = body.timeline!;
    assert.deepEqual([success, error], [true, undefined]);
    assert.ok(durationMs > 0 && usageMs > 0);
    const { version, streams, until } = told(body);
    assert.deepEqual([version, until, streams[0]?.packets, streams[0]?.codec], ['7.1', undefined, 3, 'h264']);
  });

  it('keeps options that decide how the source is read, and none that decide what is printed', async () => {
    const options = { probesize: '4096', show_frames: 'true', select_streams: 'v:0', count_frames: 'true' };
    const tool = { ...printing('echo "$*" >&2; exit 1'), options };
    const { body } = await rig.run(rig.go([tool], timed));
    const { error = '' } = body.timeline!;
    assert.match(error, /-probesize 4096/);
    assert.doesNotMatch(error, /show_frames|select_streams|count_frames|show_streams/);
  });

  it('that runs out of time is cut, and has what was read until then', async () => {
    const tool = printing('echo packet,0,3.0,3.0,1.0,10,K__; exec sleep 60');
    const { body } = await rig.run(
      rig.go([tool], { remainingMs: 1_500, assignment: { timeline: true, timeoutMs: 1_500 } }),
    );
    assert.deepEqual([body.tools[0]?.success, body.timeline?.success], [true, true]);
    const { until, cut, streams } = told(body);
    assert.equal(until, 3);
    assert.match(cut!, /^ffprobe did not finish within \d+ ms/);
    assert.deepEqual([streams[0]?.packets, streams[0]?.type, streams[0]?.codec], [1, 'video', 'vp9']);
  });

  it('that ends with an error after some packets is cut', async () => {
    const tool = printing('echo packet,0,3.0,3.0,1.0,10,K__; echo "Input/output error" >&2; exit 1');
    const { body } = await rig.run(rig.go([tool], timed));
    assert.deepEqual([body.timeline?.success, told(body).cut], [true, 'Input/output error (exit code 1)']);
  });

  it('shows gaps, which the report warns of, as of damage that ffprobe reported', async () => {
    const packets = 'for i in 0 1 2 9; do echo "packet,0,$i.0,$i.0,1.0,10,K__"; done; echo stream,0,h264,video';
    const stream = '{"index":0,"codec_type":"video","codec_name":"vp9","width":16,"height":16}';
    const output = `{"streams":[${stream}],"format":{"format_name":"matroska,webm"}}`;
    const rest = `echo "[vp9 @ 0x1] corrupt frame" >&2; echo '${output}'`;
    const report = { enabled: true, diff: true, prefer: null };
    const { body } = await rig.run(rig.go([printing(packets, rest)], { assignment: { timeline: true, report } }));
    assert.ok(!('damage' in body.tools[0]!));
    const { warnings } = JSON.parse(body.report!.output!) as ProbeReport;
    const found = warnings.filter(({ code }) => code === 'gaps' || code === 'damaged');
    assert.deepEqual(
      found.map(({ code, message }) => [code, message]),
      [
        ['damaged', 'ffprobe reports vp9: corrupt frame'],
        ['gaps', 'no packets for 6.000 s at 3.000 s'],
      ],
    );
  });

  it('that prints nothing has failed with its message', async () => {
    const { body } = await rig.run(rig.go([printing('echo "Invalid data" >&2; exit 1')], timed));
    const { success, error, output } = body.timeline!;
    assert.deepEqual([success, error, output], [false, 'Invalid data (exit code 1)', null]);
    assert.equal(body.tools[0]?.success, true);
  });

  it('is not tried where the source cannot be read', async () => {
    rig.serve = (_request, response) => response.writeHead(404).end();
    const tool = printing('echo packet,0,3.0,3.0,1.0,10,K__', 'curl -sf "$address"; echo gone >&2; exit 1');
    const { body } = await rig.run(rig.go([tool], timed));
    assert.deepEqual(
      [body.timeline?.success, body.timeline?.error, body.timeline?.code],
      [false, 'the host answered 404', 'http-404'],
    );
    assert.equal(body.timeline?.usageMs, 0);
  });

  it('needs ffprobe among the tools', async () => {
    const tool = { ...rig.script('echo "{}"'), name: 'mediainfo' as const };
    const { body } = await rig.run(rig.go([tool], timed));
    assert.deepEqual(
      [body.timeline?.success, body.timeline?.error],
      [false, 'a timeline needs ffprobe, which is not among the tools'],
    );
  });

  it('of more packets than an output may have bytes is read to its end', async () => {
    const line = 'packet,0,%d.0,%d.0,1.0,10,K__\\n';
    const tool = printing(`/usr/bin/awk 'BEGIN { for (i = 0; i < 600000; i++) printf "${line}", i, i }'`);
    const { body } = await rig.run(rig.go([tool], timed));
    // 600,000 lines are 21 MB; the agent of this rig keeps at most 8 MB of an output.
    assert.equal(told(body).streams[0]?.packets, 600_000);
  });

  it('is not made unless it is asked for', async () => {
    const { body } = await rig.run(rig.go([printing('echo packet,0,3.0,3.0,1.0,10,K__')]));
    assert.equal(body.timeline, undefined);
  });

  for (const { entry, image } of [...new Set([built[0], built.at(-1)])].filter((one) => one !== undefined)) {
    it(`ffprobe ${entry.version}: is what its own packets say`, async () => {
      const place = join(rig.directory, 'ffprobe', entry.version);
      mkdirSync(place, { recursive: true });
      await unpack(image!.archive, place);
      const options = { show_packets: 'true', show_streams: 'true' };
      const tool = {
        name: 'ffprobe' as const,
        version: entry.version,
        timeoutMs: 30_000,
        options,
        command: [...entry.command],
      };
      const { body } = await rig.run(rig.go([tool], timed));
      assert.deepEqual([body.tools[0]?.error, body.timeline?.error], [undefined, undefined]);
      const { packets, streams: known } = JSON.parse(body.tools[0]!.output!) as {
        packets: { stream_index: number; pts_time: string; size: string; flags: string }[];
        streams: { index: number; codec_name: string; codec_type: string }[];
      };
      const { streams } = told(body);
      assert.equal(streams.length, known.length);
      for (const { index, codec_name: codec, codec_type: type } of known) {
        const own = packets.filter(({ stream_index: stream }) => stream === index);
        const bytes = own.reduce((sum, { size }) => sum + Number(size), 0);
        const stream = streams[index]!;
        assert.deepEqual(
          [stream.codec, stream.type, stream.packets, stream.bytes, stream.untimed],
          [codec, type, own.length, bytes, 0],
        );
        assert.equal(
          stream.bits.reduce((sum, bits) => sum + bits, 0),
          bytes * 8,
        );
        if (type === 'video')
          assert.deepEqual(
            stream.keys.times,
            own.filter(({ flags }) => flags.startsWith('K')).map(({ pts_time: time }) => Number(time)),
          );
      }
      assert.ok(body.ioUsage <= clip.length * 2.5, `${body.ioUsage} bytes of ${clip.length}`);
    });
  }
  if (built.length === 0)
    it('of a real ffprobe', function () {
      console.log('      skipped: no image of ffprobe is built here');
      this.skip();
    });
});
