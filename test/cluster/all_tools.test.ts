import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readCatalog } from '../../images/catalog.ts';
import { versionArgs, versionIn } from '../../images/sandbox.ts';
import { runnerPod, toolKey } from '../../src/service/controller/pools/pod.ts';
import {
  CONFIG_MAPS,
  NAMESPACES,
  PODS,
  PROBE_POOLS,
  PROBE_TOOLS,
  SERVICE_ACCOUNTS,
  isKubeError,
  type Pod,
} from '../../src/platform/kube/client.ts';
import type { ProbeToolSpec } from '../../src/platform/kube/probe_tool.ts';
import { commandOf } from '../../src/service/runner/job.ts';
import { TOOL_TABLE } from '../../src/media/tools/table.ts';
import { qcGatherer } from '../../src/media/qc/gather.ts';
import type { QcStream } from '../../src/media/qc/graph.ts';
import { thresholdsOf } from '../../src/media/tools/qc_options.ts';
import { NAMESPACE, cluster, eventually, fixtures, type Cluster } from './fixture.ts';
import { settingsOfController } from './settings_of_controller.ts';

const PLACE = 'probeyard-test-tools';
const SOURCE = 'http://127.0.0.1:8000/tiny.mp4';
/** Size of test/fixtures/tiny.mp4. */
const [WIDTH, HEIGHT] = [128, 72];
const STREAMS: readonly QcStream[] = [
  { index: 0, type: 'video', declared: null },
  { index: 1, type: 'audio', declared: null, channels: 2 },
];
const WHERE = { toolsDir: '/tools', nodePath: '/app/bin/node' };

interface Run {
  stdout: string;
  stderr: string;
  status: number | null;
  signal: string | null;
  error?: string;
}
interface Line {
  tool: 'ffprobe' | 'mediainfo' | 'c2pa' | 'qc';
  version: string;
  told: Run;
  json: Run;
}

/** A runner pod whose two containers run the test's commands. */
function standIn(pod: Pod): Pod {
  const spec = pod.spec as unknown as {
    containers: { name: string; command?: string[]; args?: string[]; livenessProbe?: object; volumeMounts: object[] }[];
    volumes: object[];
  };
  const files = { name: 'files', mountPath: '/files', readOnly: true };
  for (const container of spec.containers) {
    delete container.args;
    delete container.livenessProbe;
    container.volumeMounts.push(files);
    container.command =
      container.name === 'agent'
        ? [WHERE.nodePath, '/files/serve_fixture.ts', '/files/tiny.mp4']
        : [WHERE.nodePath, '/files/run_tools.ts', '/files/tasks.json'];
  }
  spec.volumes.push({ name: 'files', configMap: { name: 'files' } });
  return pod;
}

async function clear(c: Cluster): Promise<void> {
  await eventually("the test's namespace is gone", 90, async () => {
    try {
      const { metadata } = await c.kube.get(NAMESPACES, PLACE);
      if (metadata.deletionTimestamp === undefined) await c.kube.delete(NAMESPACES, PLACE);
      return false;
    } catch (error) {
      if (isKubeError(error, 'not-found')) return true;
      throw error;
    }
  });
}

const numberOf = (tool: Line['tool'], said: string): string => versionIn({ tool }, said) ?? said.slice(0, 200);

describe('a hardened pod with every tool version side by side', function () {
  this.timeout(180_000);
  let c: Cluster;
  let tools: ProbeToolSpec[];
  /** Of one image with every tool, none is mounted. */
  let mounted: ProbeToolSpec[];
  let lines: Line[];

  before(async () => {
    c = await cluster();
    const { items } = await c.kube.listAll(PROBE_TOOLS, { namespace: NAMESPACE });
    tools = items
      .filter(({ status }) =>
        status?.conditions?.some(({ type, status: value }) => type === 'Available' && value === 'True'),
      )
      .map(({ spec }) => spec);
    const settings = { ...(await settingsOfController(c.kube)), runnerNamespace: PLACE };
    mounted = settings.toolsDelivery === 'imageVolume' ? tools : [];
    const { spec } = await c.kube.get(PROBE_POOLS, 'short', { namespace: NAMESPACE });

    // A killed test run may have left it.
    await clear(c);
    const restricted = Object.fromEntries(
      ['enforce', 'audit', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
    );
    await c.kube.create(NAMESPACES, { metadata: { name: PLACE, labels: restricted } });
    await c.kube.create(SERVICE_ACCOUNTS, { metadata: { name: settings.runnerServiceAccount, namespace: PLACE } });
    await c.kube.create(CONFIG_MAPS, {
      metadata: { name: 'probeyard-ca', namespace: PLACE },
      data: { 'ca.crt': 'not read here' },
    });
    const tasks = tools.map(({ tool, version, command }) => {
      const argv = commandOf({ name: tool, version, command }, WHERE);
      return {
        tool,
        version,
        ask: [...argv, ...versionArgs({ tool: tool as Line['tool'] })],
        probe: [
          ...argv,
          ...(TOOL_TABLE[tool]?.args({}, SOURCE, tool === 'qc' ? { wallMs: 0, streams: STREAMS } : undefined) ?? []),
        ],
      };
    });
    const script = (name: string) => readFile(join(import.meta.dirname, 'pod', name), 'utf8');
    await c.kube.create(CONFIG_MAPS, {
      metadata: { name: 'files', namespace: PLACE },
      data: {
        'serve_fixture.ts': await script('serve_fixture.ts'),
        'run_tools.ts': await script('run_tools.ts'),
        'tasks.json': JSON.stringify(tasks),
      },
      binaryData: { 'tiny.mp4': (await readFile(join(fixtures, 'tiny.mp4'))).toString('base64') },
    });

    const pod = standIn(
      runnerPod(settings, { pool: 'short', spec, suffix: 'tools', generation: 'test', tools, userNamespace: true }),
    );
    await c.kube.create(PODS, pod, { namespace: PLACE });
    await eventually('the tools have run', 120, async () => {
      const { status } = await c.kube.get(PODS, pod.metadata.name, { namespace: PLACE });
      return status?.containerStatuses?.find(({ name }) => name === 'tools')?.state?.terminated !== undefined;
    });
    const log = await c.kube.logs(pod.metadata.name, {
      namespace: PLACE,
      container: 'tools',
      limitBytes: 16 * 1024 * 1024,
    });
    lines = log
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line);
    if (lines.length === 0) throw new Error(`the pod printed: ${log.slice(0, 2_000)}`);
  });
  after(async () => {
    await clear(c);
    await c.close();
  });

  it('is a runner with two containers, a user namespace, the restricted profile and a mount per version', async () => {
    const { spec } = await c.kube.get(PODS, 'runner-short-tools', { namespace: PLACE });
    assert.deepEqual(
      spec?.containers.map(({ name }) => name),
      ['agent', 'tools'],
    );
    assert.equal(spec?.hostUsers, false);
    assert.equal(spec?.automountServiceAccountToken, false);
    const [agent, beside] = spec?.containers ?? [];
    assert.notEqual(agent?.securityContext?.runAsUser, beside?.securityContext?.runAsUser);
    const paths = beside?.volumeMounts
      ?.map(({ mountPath }) => mountPath)
      .filter((path) => path.startsWith('/tools/'))
      .sort();
    assert.deepEqual(paths, mounted.map((tool) => `/tools/${toolKey(tool)}`).sort());
    assert.ok(!agent?.volumeMounts?.some(({ mountPath }) => mountPath.startsWith('/tools/')), 'the agent has no tools');
  });

  it('every Available version ran in it', () => {
    assert.ok(tools.length >= 10, `${tools.length} tool versions`);
    assert.deepEqual(lines.map(toolKey).sort(), tools.map(toolKey).sort());
  });

  it('each reports exactly the version in the catalog', () => {
    const exact = new Map(readCatalog().tools.map((entry) => [toolKey(entry), entry.exact]));
    assert.deepEqual(
      lines.map(({ tool, version, told }) => [tool, version, numberOf(tool, told.stdout)]),
      lines.map((line) => [line.tool, line.version, exact.get(toolKey(line))]),
    );
  });

  it('each reads the same small mp4 and prints its contents', () => {
    for (const { tool, version, json } of lines) {
      const what = `${tool} ${version}: ${json.error ?? ''} ${json.signal ?? ''} ${json.stderr}`;
      assert.equal(json.status, 0, what);
      if (tool === 'qc') {
        const gatherer = qcGatherer({ checked: [...STREAMS], left: [] }, thresholdsOf({}));
        gatherer.push(Buffer.from(json.stdout));
        const { video, audio, unread_lines: unread } = gatherer.told();
        assert.ok([...video, ...audio].every(({ decoded }) => decoded !== null && decoded > 0) && unread === 0, what);
        continue;
      }
      const said = JSON.parse(json.stdout) as unknown;
      if (tool === 'ffprobe') {
        const { format, streams } = said as { format: Record<string, unknown>; streams: Record<string, unknown>[] };
        assert.match(String(format['format_name']), /mp4/, what);
        const [video, audio] = ['video', 'audio'].map((type) => streams.find(({ codec_type }) => codec_type === type));
        assert.deepEqual(
          [video?.['codec_name'], video?.['width'], video?.['height'], audio?.['codec_name'], streams.length],
          ['h264', WIDTH, HEIGHT, 'aac', 2],
          what,
        );
      } else if (tool === 'c2pa') {
        assert.deepEqual(
          said,
          {
            active_manifest: null,
            manifests: {},
            validation_state: null,
            validation_results: null,
            summary: { state: 'none', signer: null, declared_ai: null, actions: [] },
          },
          what,
        );
      } else {
        const { track } = (said as { media: { track: Record<string, string>[] } }).media;
        const [general, video, audio] = ['General', 'Video', 'Audio'].map((type) =>
          track.find((part) => part['@type'] === type),
        );
        assert.deepEqual(
          [
            general?.['Format'],
            video?.['Format'],
            video?.['Width'],
            video?.['Height'],
            audio?.['Format'],
            track.length,
          ],
          ['MPEG-4', 'AVC', String(WIDTH), String(HEIGHT), 'AAC', 3],
          what,
        );
      }
    }
  });
});
