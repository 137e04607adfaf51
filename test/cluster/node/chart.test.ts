import assert from 'node:assert/strict';
import { chartValues } from '../../node/chart.ts';
import type { BuiltImage } from '../../node/product_images.ts';
import { nameIn } from '../../node/registry.ts';

const image = (kind: string, name: string, more: Partial<BuiltImage> = {}): BuiltImage => ({
  ref: `localhost/probeyard/${name}:1`,
  name,
  archive: '/x.tar',
  digest: `sha256:${name}`,
  kind,
  ...more,
});
const images = [
  image('product', 'probeyard'),
  image('nats', 'nats'),
  image('tool', 'tool-ffprobe', { tool: 'ffprobe', version: '9.0' }),
];
const catalog = [
  { tool: 'ffprobe', version: '9.0', command: ['{root}/bin/ffprobe'] },
  { tool: 'ffprobe', version: '3.3', command: ['{root}/bin/ffprobe'] },
];

describe('values of the local release', () => {
  it('name images by digest, and only tools that were built', () => {
    const values = chartValues({ images }, catalog);
    assert.deepEqual(values['image'], { digest: 'sha256:probeyard' });
    assert.deepEqual(values['tools'], {
      catalog: [{ tool: 'ffprobe', version: '9.0', command: ['{root}/bin/ffprobe'], digest: 'sha256:tool-ffprobe' }],
    });
  });

  it('allow sources and webhooks at one private address, that of the host', () => {
    for (const key of ['sources', 'webhooks']) {
      assert.deepEqual(chartValues({ images, hostIp: '10.188.0.1' }, catalog)[key], {
        allow: [{ cidr: '10.188.0.1/32' }],
      });
      assert.equal(chartValues({ images }, catalog)[key], undefined);
    }
  });

  it('take every image from the given registry', () => {
    assert.deepEqual(chartValues({ images, registry: 'registry.example.com/media' }, catalog)['global'], {
      imageRegistry: 'registry.example.com/media',
    });
    assert.equal(
      nameIn('registry.example.com/media/', 'localhost/probeyard/nats:1'),
      'registry.example.com/media/probeyard/nats:1',
    );
  });
});
