import assert from 'node:assert/strict';
import { outcome } from '../../src/service/controller/collect/outcome.ts';
import { listen } from '../source/listen.ts';
import { Rig } from './agent_rig.ts';
import { headOf } from '../result/text_body.ts';

describe('RTSP in a runner', function () {
  this.timeout(60_000);
  const rig = new Rig();
  let peer: Awaited<ReturnType<typeof listen>>;
  before(async () => {
    peer = await listen((socket) => socket.destroy());
    await rig.start();
    await rig.newAgent();
  });
  after(async () => {
    peer?.close();
    await rig.stop();
  });
  const source = (): string => `rtsp://127.0.0.1:${peer.port}/cam`;
  const mediainfo = () => rig.script('echo started', { name: 'mediainfo', version: '26.10' });
  const saying = {
    format: { format_name: 'rtsp' },
    streams: [{ index: 0, codec_type: 'video', codec_name: 'h264', width: 640, height: 480 }],
  };

  it('mediainfo fails with an error that says so, beside the result of ffprobe', async () => {
    const tools = [rig.script(`echo '${JSON.stringify(saying)}'`), mediainfo()];
    const { body } = await rig.run(
      rig.go(tools, { source: source(), assignment: { report: { enabled: true, diff: true, prefer: null } } }),
    );
    assert.deepEqual(
      body.tools.map(({ name, success, failure, error }) => [name, success, failure, error]),
      [
        ['ffprobe', true, undefined, undefined],
        ['mediainfo', false, 'failed', 'mediainfo cannot read RTSP'],
      ],
    );
    const report = JSON.parse(body.report?.output ?? 'null') as { warnings: { code: string }[] };
    assert.ok(
      report.warnings.some(({ code }) => code === 'single-source'),
      JSON.stringify(report.warnings),
    );
    assert.deepEqual([outcome(headOf(body), tools).status, outcome(headOf(body), tools).state], [200, 'with-errors']);
  });

  it('mediainfo alone opens no connection, and the request ends with 200 and the error', async () => {
    const before = peer.connections;
    const tools = [mediainfo()];
    const { body } = await rig.run(rig.go(tools, { source: source() }));
    const { status, state, error } = outcome(headOf(body), tools);
    assert.deepEqual([status, state, error], [200, 'error', 'mediainfo cannot read RTSP']);
    assert.deepEqual([peer.connections - before, body.ioUsage], [0, 0]);
  });

  it('a stream that ffprobe cannot reach is not found, even if mediainfo cannot read RTSP', async () => {
    const describe =
      'port=${address#rtsp://127.0.0.1:}; exec 3<>/dev/tcp/127.0.0.1/${port%%/*}; printf "DESCRIBE %s ' +
      'RTSP/1.0\\r\\nCSeq: 1\\r\\n\\r\\n" "$address" >&3; read -t 10 line <&3; echo "$line" >&2; exit 1';
    const tools = [rig.script(describe), mediainfo()];
    const { body } = await rig.run(rig.go(tools, { source: source() }));
    assert.deepEqual(
      body.tools.map(({ failure }) => failure),
      ['origin-unreachable', 'origin-unreachable'],
    );
    assert.equal(outcome(headOf(body), tools).status, 404);
  });
});
