import assert from 'node:assert/strict';
import { parse } from 'yaml';
import { container, environmentOf, render } from './render.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nMII"a\'b{{ c }}\n-----END CERTIFICATE-----\n';

describe('chart: settings of the C2PA check', function () {
  this.timeout(60_000);

  const configMap = (values: object) =>
    render(values).find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'probeyard-c2pa');
  const variable = (values: object): string | undefined =>
    environmentOf(container(render(values), 'controller'))['PY_C2PA_CONFIGMAP'];

  it('are empty by default', () => {
    assert.deepEqual([configMap({}), variable({})], [undefined, undefined]);
  });

  it("become files in the runners' namespace, byte for byte", () => {
    const settings = { verify: { strict_v1_validation: true }, core: { max_decompressed_manifest_size_in_mb: 8 } };
    const values = {
      c2pa: {
        trustAnchors: PEM,
        userAnchors: `${PEM}${PEM}`,
        allowedList: 'AAAA=\n',
        trustConfig: '1.3.6.1.5.5.7.3.4\n',
        settings,
      },
    };
    const { metadata, data } = configMap(values) as unknown as {
      metadata: { namespace: string };
      data: Record<string, string>;
    };
    assert.equal(metadata.namespace, 'probeyard-runners');
    const { 'settings.json': json, ...texts } = data;
    assert.deepEqual(texts, {
      'trust_anchors.pem': PEM,
      'user_anchors.pem': `${PEM}${PEM}`,
      'allowed_list.pem': 'AAAA=\n',
      'trust_config.cfg': '1.3.6.1.5.5.7.3.4\n',
    });
    assert.deepEqual(parse(json!), settings);
    assert.equal(variable(values), 'probeyard-c2pa');
  });

  it("may come from the operator's own ConfigMap", () => {
    const values = { c2pa: { configMap: 'my-anchors', trustAnchors: PEM } };
    assert.deepEqual([configMap(values), variable(values)], [undefined, 'my-anchors']);
  });
});
