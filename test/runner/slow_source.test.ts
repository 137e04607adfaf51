import assert from 'node:assert/strict';
import { outcome } from '../../src/service/controller/collect/outcome.ts';
import { Rig } from './agent_rig.ts';
import { headOf } from '../result/text_body.ts';

describe('slow source in a runner', function () {
  this.timeout(60_000);
  const rig = new Rig();
  before(async () => {
    rig.pace = { minBytes: 16_384, windowMs: 1_000 };
    rig.serve = (_request, response) => {
      response.writeHead(200, { 'content-length': 1_000_000 });
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    };
    await rig.start();
    await rig.newAgent();
  });
  after(() => rig.stop());
  const read =
    'hp=${address#http://}; hp=${hp%%/*}; path=/${address#http://*/}; exec 3<>/dev/tcp/127.0.0.1/${hp#*:}; ' +
    'printf "GET %s HTTP/1.0\\r\\n\\r\\n" "$path" >&3; while read -t 20 -N 1 byte <&3; do :; done;';

  it('replaces the error of a tool that reports the broken connection', async () => {
    const tools = [rig.script(`${read} echo "Input/output error" >&2; exit 1`)];
    const { body } = await rig.run(rig.go(tools));
    assert.deepEqual(
      body.tools.map(({ success, failure, error }) => [success, failure, error]),
      [[false, 'source-cut', 'the source is too slow']],
    );
    assert.deepEqual(
      [outcome(headOf(body), tools).status, outcome(headOf(body), tools).error],
      [200, 'the source is too slow'],
    );
    assert.deepEqual(body.source, { failure: 'source-cut', code: 'slow', message: 'the source is too slow' });
  });

  it('is the error of a tool that takes the part for the whole', async () => {
    const { body } = await rig.run(rig.go([rig.script(`${read} echo '{"format":{}}'`)]));
    assert.deepEqual(
      body.tools.map(({ success, error, output }) => [success, error, output]),
      [[false, 'the source is too slow', '{"format":{}}\n']],
    );
  });
});
