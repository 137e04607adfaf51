import assert from 'node:assert/strict';
import { PODS, PROBE_POOLS, PROBE_TOOLS, isKubeError } from '../../src/platform/kube/client.ts';
import { LABEL, type Condition } from '../../src/platform/kube/resource.ts';
import type { ProbeTool } from '../../src/platform/kube/probe_tool.ts';
import { bringBrokenImages, hasNode, imageOf, removeBrokenImages, type Way } from './broken_images.ts';
import { NAMESPACE, RUNNERS, cluster, eventually, type Cluster } from './fixture.ts';
import { steadyLoad } from './load.ts';

interface Broken {
  title: string;
  version: string;
  image: string;
  way?: Way;
  reason: string;
  message: RegExp;
}

const built = (way: Way, title: string, version: string, reason: string, message: RegExp): Broken => ({
  title,
  version,
  image: imageOf(way),
  way,
  reason,
  message,
});

/** Slow ones first. Three are proven at once, so the others run during these. */
const BROKEN: readonly Broken[] = [
  {
    title: 'an image that does not exist',
    version: '0.1',
    image: 'localhost/probeyard/test-broken-nowhere:1',
    reason: 'ImageUnavailable',
    message: /test-broken-nowhere:1/,
  },
  built('HANGS', 'a program that hangs', '0.2', 'Hangs', /-version: did not finish within \d+ ms/),
  built(
    'FOREIGN',
    'a program for another architecture',
    '0.4',
    'WrongArchitecture',
    /\/tools\/ffprobe\/0\.4\/bin\/ffprobe is for another architecture \(ELF machine \d+\)/,
  ),
  built(
    'ABSENT',
    'an image without the program',
    '0.5',
    'FileMissing',
    /\/tools\/ffprobe\/0\.5\/bin\/ffprobe.*is not in the image/,
  ),
  built('CRASHES', 'a program that crashes', '0.6', 'Crashed', /ended by SIGSEGV/),
  built(
    'BABBLES',
    'a program that does not print its version',
    '0.7',
    'BadOutput',
    /does not print its version \(exit code 0\).*not what a tool says/,
  ),
  built(
    'LIES',
    'a program of another version',
    '0.8',
    'VersionMismatch',
    /catalog says 0\.8, .* says ffprobe version 99\.9/,
  ),
  built('NO_JSON', 'a program that prints no JSON', '0.9', 'BadOutput', /not valid JSON/),
];

const nameOf = ({ version }: Broken): string => `ffprobe-${version}`;
const availableOf = (tool: ProbeTool): Condition | undefined =>
  tool.status?.conditions?.find(({ type }) => type === 'Available');

describe('broken tool images', function () {
  this.timeout(240_000);
  let c: Cluster;
  let generations: Record<string, string | undefined>;
  let others: string[];

  const generationsNow = async () =>
    Object.fromEntries(
      (await c.kube.listAll(PROBE_POOLS, { namespace: NAMESPACE })).items.map(({ metadata, status }) => [
        metadata.name,
        status?.generation,
      ]),
    );
  const availableNow = async () =>
    (await c.kube.listAll(PROBE_TOOLS, { namespace: NAMESPACE })).items
      .filter((tool) => availableOf(tool)?.status === 'True')
      .map(({ metadata }) => metadata.name)
      .sort();
  const clear = async (): Promise<void> => {
    for (const broken of BROKEN)
      await c.kube.delete(PROBE_TOOLS, nameOf(broken), { namespace: NAMESPACE }).catch((error: unknown) => {
        if (!isKubeError(error, 'not-found')) throw error;
      });
  };
  let wrong: string[];
  let answered = 0;

  before(async function () {
    if (!hasNode()) {
      console.log('    skipped: images can be brought to the local node alone, and it does not run here');
      this.skip();
    }
    c = await cluster();
    await clear();
    await bringBrokenImages(new Map(BROKEN.flatMap(({ way, version }) => (way === undefined ? [] : [[way, version]]))));
    others = await availableNow();
    generations = await generationsNow();
    const source = `${(await c.origin()).url}/tiny.mp4`;
    const { token } = await c.newToken();
    const load = steadyLoad(1, () => c.probe({ url: source }, { token }));
    for (const broken of BROKEN) {
      await c.kube.create(PROBE_TOOLS, {
        metadata: { name: nameOf(broken), namespace: NAMESPACE },
        spec: { tool: 'ffprobe', version: broken.version, image: broken.image, command: ['{root}/bin/ffprobe'] },
      });
    }
    try {
      await eventually('each is judged', 180, async () => {
        const tools = await Promise.all(
          BROKEN.map((broken) => c.kube.get(PROBE_TOOLS, nameOf(broken), { namespace: NAMESPACE })),
        );
        return tools.every((tool) => availableOf(tool)?.status === 'False');
      });
    } finally {
      wrong = await load.stop();
      answered = load.answered;
    }
  });
  after(async () => {
    if (!hasNode()) return;
    await clear();
    await eventually(
      'no proof of them runs',
      60,
      async () =>
        !(await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.component}=verify` })).items.some(
          ({ metadata }) => metadata.name.startsWith('verify-ffprobe-0-'),
        ),
    );
    await removeBrokenImages();
    await c.close();
  });

  for (const broken of BROKEN) {
    it(`${broken.title}: ${broken.reason} with a message on its ProbeTool`, async () => {
      const condition = availableOf(await c.kube.get(PROBE_TOOLS, nameOf(broken), { namespace: NAMESPACE }));
      assert.equal(condition?.reason, broken.reason, condition?.message);
      assert.match(condition?.message ?? '', broken.message);
      assert.match(
        await c.kubectl('-n', NAMESPACE, 'get', 'pt', nameOf(broken)),
        new RegExp(`\\sFalse\\s+${broken.reason}\\s`),
      );
    });
  }

  it('meanwhile every request succeeded, with tools that stayed Available in unchanged pools', async () => {
    assert.deepEqual(wrong, []);
    assert.ok(answered > 20, `${answered} requests`);
    assert.deepEqual(await availableNow(), others);
    assert.deepEqual(await generationsNow(), generations);
    const runners = (await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.component}=runner` }))
      .items;
    assert.ok(runners.length > 0);
    for (const { metadata } of runners) assert.doesNotMatch(JSON.stringify(metadata.annotations), /ffprobe\/0\.\d/);
  });

  it('an image from a registry that is not allowed: the API server refuses its ProbeTool', async () => {
    const image = 'registry.invalid/probeyard/tool-ffprobe:0.3';
    const made = c.kube.create(PROBE_TOOLS, {
      metadata: { name: 'ffprobe-0.3', namespace: NAMESPACE },
      spec: { tool: 'ffprobe', version: '0.3', image, command: ['{root}/bin/ffprobe'] },
    });
    await assert.rejects(made, /registry\.invalid\/.* is not in tools\.allowedRegistries: localhost\/probeyard/);
  });

  it('a request for a broken version gets an error with the available ones', async () => {
    const { status, json } = await c.probe({ url: 'http://example.com/a.mp4', ffprobe: { version: '0.6' } });
    assert.equal(status, 400);
    assert.match(json.error ?? '', /"0\.6" is not available; available: .*9\.0/);
  });

  it('kubectl shows our message, whatever the tool printed', async () => {
    assert.match(await c.kubectl('-n', NAMESPACE, 'get', 'events', '-o', 'yaml'), /kind: ProbeTool/);
    assert.match(await c.kubectl('-n', NAMESPACE, 'get', 'pt', '-o', 'yaml'), /reason: BadOutput/);
  });

  it('no proof pods are left', async () => {
    await eventually('the proof pods are gone', 30, async () =>
      (await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.component}=verify` })).items.every(
        ({ metadata }) => !metadata.name.startsWith('verify-ffprobe-0-'),
      ),
    );
  });
});
