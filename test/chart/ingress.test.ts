import assert from 'node:assert/strict';
import { only, render } from './render.ts';

describe('chart: ingress', () => {
  it('lets long requests and uploads of any size pass on ingress-nginx; the API itself limits both', () => {
    const { metadata } = only(render({ ingress: { enabled: true, hosts: ['a.example'] } }), 'Ingress', 'probeyard-api');
    const set = Object.entries(metadata.annotations ?? {}).map(([name, value]) => `${name.split('/')[1]}: ${value}`);
    for (const line of ['proxy-read-timeout: 660', 'proxy-body-size: 0', 'proxy-request-buffering: off'])
      assert.ok(set.includes(line), line);
  });
});
