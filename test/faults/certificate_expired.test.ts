import { eventually, type Cluster } from '../cluster/fixture.ts';
import { expireCertificate, forgetRenewal, isRenewed, renewCertificate } from './expired_certificate.ts';
import { assertTold, moment, settled, underLoad } from './load.ts';
import { unlessLong } from '../long.ts';
import { wholeCluster } from './whole.ts';

describe('the certificate of NATS has expired, and is renewed after NATS was restarted with it', function () {
  this.timeout(1_200_000);
  let c: Cluster;
  before(async function () {
    unlessLong(this, 'the kubelet takes minutes to write changed Secrets');
    c = await wholeCluster();
  });
  after(async () => {
    if (c) await forgetRenewal(c);
    await c?.close();
  });

  it('no request is lost or doubled, and controllers make NATS load the renewed certificate', async () => {
    const reckoning = await underLoad(c, async () => {
      await expireCertificate(c);
      await moment(20_000);
      await renewCertificate(c);
      await eventually('NATS presents the renewed certificate', 300, () => isRenewed(c));
      await eventually('a probe is answered', 60, async () => {
        const origin = await c.origin();
        return (await c.probe({ url: `${origin.url}/tiny.mp4`, only: 'ffprobe' })).status === 200;
      });
    });
    assertTold(reckoning, 0.1, { queueTimeouts: true, answered: true });
    await settled(c);
  });
});
