import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { entryName, readCatalog } from '../../images/catalog.ts';
import { registryAllowed } from '../../src/service/controller/catalog/prove.ts';
import { EVERYTHING, OTHERS_CRDS } from './everything.ts';
import { CHART, container, containersOf, environmentOf, only, podsOf, render, type Rendered } from './render.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;

const catalogOf = (objects: Rendered[]) =>
  parse(only(objects, 'ConfigMap', 'probeyard-catalog')['data']['catalog.yaml'] as string) as {
    tool: string;
    version: string;
    command: string[];
    image: string;
    latest?: boolean;
  }[];

function imagesOf(objects: Rendered[]): string[] {
  const env = environmentOf(container(objects, 'controller'));
  return [
    ...podsOf(objects)
      .flatMap(containersOf)
      .map(({ image }) => image),
    ...catalogOf(objects).map(({ image }) => image),
    env['PY_RUNNER_IMAGE']!,
    ...(env['PY_BUNDLED_IMAGE'] ? [env['PY_BUNDLED_IMAGE']] : []),
  ];
}

describe('chart: images', function () {
  this.timeout(60_000);

  for (const [title, values] of [
    ['image volumes', { global: { imageRegistry: 'registry.example/x' } }],
    ['bundled tools', { global: { imageRegistry: 'registry.example/x' }, tools: { delivery: 'bundled' } }],
    [
      'a separate registry beside it',
      {
        global: { imageRegistry: 'registry.example/x' },
        image: { registry: 'a.example' },
        nats: { image: { registry: 'b.example' } },
        postgres: { image: { registry: 'c.example' } },
        tools: { registry: 'd.example' },
      },
    ],
  ] as const) {
    it(`all come from the given registry, with ${title}`, () => {
      const images = imagesOf(render(values));
      assert.ok(images.length > 20);
      assert.deepEqual(
        images.filter((image) => !image.startsWith('registry.example/x/probeyard/')),
        [],
      );
    });
  }

  it("come from the product's registry unless they have one of their own", () => {
    const images = imagesOf(render({ image: { registry: 'localhost', tag: 'dev' } }));
    assert.deepEqual(
      images.filter((image) => !image.startsWith('localhost/probeyard/')),
      [],
    );
    assert.ok(images.includes('localhost/probeyard/probeyard:dev'));
    assert.ok(images.includes('localhost/probeyard/tool-ffprobe:9.0'));
  });

  it('are referenced by digest if one is given, not by tag', () => {
    const objects = render({
      image: { digest: DIGEST },
      nats: { image: { digest: DIGEST } },
      postgres: { image: { digest: DIGEST } },
      tools: {
        delivery: 'bundled',
        bundled: { digest: DIGEST },
        catalog: [{ tool: 'ffprobe', version: '9.0', command: ['{root}/bin/ffprobe'], digest: DIGEST }],
      },
    });
    for (const image of imagesOf(objects)) assert.match(image, /^probeyard\/[a-z-]+@sha256:a{64}$/);
  });

  for (const [title, values] of [
    ['every pod', { arch: 'arm64' }],
    ['runners', { runners: { nodeSelector: { 'kubernetes.io/arch': 'arm64' } } }],
  ] as const)
    it(`on arm64 for ${title}: the versions that there are, with their own loader`, () => {
      const names = ({ tool, version }: { tool: string; version: string }) => `${tool}-${version}`;
      const catalog = catalogOf(render(values));
      const there = new Set(catalog.map(names));
      const missing = catalogOf(render()).filter((entry) => !there.has(names(entry)));
      assert.deepEqual(missing.map(names), ['ffprobe-4.0', 'c2pa-0.90.22']);
      assert.doesNotMatch(JSON.stringify(catalog), /x86/);
      assert.ok(catalog.some(({ command }) => command[0] === '{root}/lib/ld-linux-aarch64.so.1'));
      const own = [{ tool: 'ffprobe', version: '9.0', command: ['{root}/bin/ffprobe'] }];
      assert.equal(catalogOf(render({ ...values, tools: { catalog: own } })).length, 1);
    });

  it('of tools are in the catalog with their command, and with versions as strings', () => {
    const catalog = catalogOf(render());
    assert.equal(catalog.filter(({ tool, latest }) => tool === 'ffprobe' && latest).length, 1);
    for (const { tool, version, image } of catalog) {
      assert.equal(typeof version, 'string');
      assert.equal(image, `probeyard/tool-${tool}:${version}`);
    }
  });

  it('of tools can be left out, replaced and added', () => {
    const all = catalogOf(render()).length;
    assert.equal(catalogOf(render({ tools: { exclude: ['ffprobe-4.0'] } })).length, all - 1);
    const objects = render({
      tools: {
        catalog: [
          { tool: 'ffprobe', version: '10', command, image: 'other.example/ffprobe:10' },
          { tool: 'mediainfo', version: '1.0', tag: '1.0-r2', command },
        ],
      },
    });
    assert.deepEqual(
      catalogOf(objects).map(({ image }) => image),
      ['other.example/ffprobe:10', 'probeyard/tool-mediainfo:1.0-r2'],
    );
  });

  it('of tools that were never built are installed only if the values name them', () => {
    const names = (values: object = {}) => catalogOf(render(values)).map(({ tool, version }) => `${tool}-${version}`);
    const all = readCatalog().tools;
    const built = all.filter((entry) => entry.built !== 'never').map(entryName);
    assert.ok(built.length < all.length && built.includes('c2pa-0.90.22'));
    assert.deepEqual(names(), built);
    assert.deepEqual(
      names({ tools: { include: ['ffprobe-7.0'] } }).filter((name) => !built.includes(name)),
      ['ffprobe-7.0'],
    );
  });

  const command = ['{root}/bin/x'];
  for (const [title, values] of Object.entries({
    'by default': {},
    'of a given registry': { image: { registry: 'localhost' } },
    'of the registry for all images': { global: { imageRegistry: 'a.example/b' } },
    'of their own registry': { tools: { registry: 'c.example' } },
    'without a path': { tools: { repositoryPrefix: 'tool-' } },
    'of several registries': {
      tools: {
        catalog: [
          { tool: 'ffprobe', version: '10', command, image: 'other.example/x/ffprobe:10' },
          { tool: 'mediainfo', version: '1.0', command },
        ],
      },
    },
  })) {
    it(`of the catalog's tools, ${title}, are allowed, and others are not`, () => {
      const objects = render(values);
      const allowed = JSON.parse(environmentOf(container(objects, 'controller'))['PY_ALLOWED_REGISTRIES']!) as string[];
      assert.ok(allowed.length > 0, 'an empty list would allow everything');
      for (const { image } of catalogOf(objects))
        assert.ok(registryAllowed(image, allowed), `${image} is none of ${allowed.join(', ')}`);
      assert.equal(registryAllowed('evil.example/tool-ffprobe:9.0', allowed), false);
    });
  }

  it('are allowed from the registries that the operator names instead', () => {
    const one = container(render({ tools: { allowedRegistries: ['registry.example/tools'] } }), 'controller');
    assert.equal(environmentOf(one)['PY_ALLOWED_REGISTRIES'], '["registry.example/tools"]');
  });

  it('are pulled with the pull secrets in every pod', () => {
    const objects = render({ ...EVERYTHING, ...OTHERS_CRDS });
    const setup = 'Job/probeyard-setup';
    for (const { owner, spec } of podsOf(objects)) {
      assert.deepEqual(
        spec['imagePullSecrets'],
        [{ name: 'pull' }, { name: owner === setup ? 'probeyard-pull-setup' : 'probeyard-pull' }],
        owner,
      );
    }
    assert.equal(environmentOf(container(objects, 'controller'))['PY_IMAGE_PULL_SECRETS'], '["pull","probeyard-pull"]');
  });

  it('of a private registry: the credentials exist in both namespaces before the setup job runs', () => {
    const dockerConfigJson = '{"auths":{"registry.example":{"auth":"bWU6c2VjcmV0"}}}';
    const secrets = render({ pullSecret: { dockerConfigJson } }).filter(({ kind }) => kind === 'Secret');
    const hook = {
      'helm.sh/hook': 'pre-install,pre-upgrade',
      'helm.sh/hook-weight': '-10',
      'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
    };
    assert.deepEqual(
      secrets.map(({ metadata: { namespace, name, annotations } }) => [namespace, name, annotations]).sort(),
      [
        ['probeyard', 'probeyard-pull', undefined],
        ['probeyard', 'probeyard-pull-setup', hook],
        ['probeyard-runners', 'probeyard-pull', undefined],
      ],
    );
    for (const secret of secrets) {
      assert.equal(secret['type'], 'kubernetes.io/dockerconfigjson');
      assert.equal(Buffer.from(secret['data']['.dockerconfigjson'] as string, 'base64').toString(), dockerConfigJson);
    }
    for (const { owner, spec } of podsOf(render())) assert.equal(spec['imagePullSecrets'], undefined, owner);
  });

  it('are pulled by one policy in every pod', () => {
    const objects = render({ image: { pullPolicy: 'Never' } });
    for (const pod of podsOf(objects))
      for (const one of containersOf(pod))
        assert.equal((one as { imagePullPolicy?: string }).imagePullPolicy, 'Never', pod.owner);
    assert.equal(environmentOf(container(objects, 'controller'))['PY_IMAGE_PULL_POLICY'], 'Never');
  });
});

describe('chart: secrets', () => {
  const templates = readdirSync(join(CHART, 'templates'), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );

  it('are never generated by a template, which would change them at each rendering', () => {
    assert.ok(templates.length > 20);
    for (const entry of templates) {
      const text = readFileSync(join(entry.parentPath, entry.name), 'utf8');
      assert.doesNotMatch(
        text,
        /\b(rand[A-Z]\w*|gen[A-Z]\w*|derivePassword|htpasswd|bcrypt|uuidv4|now|lookup)\b/,
        entry.name,
      );
    }
  });

  it('are not part of the release, except a pull secret in the values', () => {
    const names = render({ ...EVERYTHING, ...OTHERS_CRDS })
      .filter(({ kind }) => kind === 'Secret')
      .map(({ metadata }) => metadata.name);
    assert.deepEqual(new Set(names), new Set(['probeyard-pull', 'probeyard-pull-setup']));
  });
});
