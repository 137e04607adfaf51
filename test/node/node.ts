import { basename, join } from 'node:path';
import { Resolver } from 'node:dns/promises';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Built } from './build.ts';
import { createCgroup } from './cgroups.ts';
import { run } from './command.ts';
import { apiServer, controllerManager, ensureIdentity, etcd, scheduler, type ControlPlane } from './control_plane.ts';
import { ensureDaemon, writeWhole, type Daemon, type Outcome } from './daemon.ts';
import { until } from './deadline.ts';
import { dnsManifests } from './dns.ts';
import type { Host } from './host.ts';
import { importImages, type ImageArchive } from './images.ts';
import { hostResolvConf, kubelet, kubeProxy, nameServers, nodeLeaves } from './kubelet.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { NODE } from './layout.ts';
import { ensureNetwork } from './network.ts';
import { enforcePolicies } from './network_policies.ts';
import { placesOf, type Place } from './place.ts';
import { writeScratchImage } from './oci_archive.ts';
import { say, timed } from '../../images/progress.ts';
import { containerd } from './runtime.ts';
import { ensureJoinedNetwork, removeJoined, unwantedNodes } from './joined_nodes.ts';
import type { Settings } from './settings.ts';
import { Snapshot, takeSnapshot } from './snapshot.ts';
import { readState } from './state_file.ts';
import { APPLY, ensureVolumes } from './volumes.ts';

const layout = NODE;
export const snapshotFile = join(layout.stateDir, 'before.json');

export interface NodeOptions {
  built: Built;
  host: Host;
  settings: Settings;
  audit: boolean;
  /** How many nodes there are. */
  nodes: number;
}

/** Starts every daemon that is not running or runs with another configuration. Returns the outcome of each. */
export async function startNode(options: NodeOptions): Promise<Map<string, Outcome>> {
  const { built, host, settings } = options;
  await rememberBefore();
  const plane: ControlPlane = {
    layout,
    built,
    address: settings.apiIp ?? settings.hostIp,
    reachable: true,
    serviceCidr: settings.serviceCidr,
    serviceAddress: settings.serviceAddress,
    audit: options.audit,
  };
  const places = placesOf(settings, options.nodes);
  const [first, ...further] = places;
  await ensureIdentity(plane, nodeLeaves(places));
  const cgroups = await createCgroup(layout.name);
  await ensureNetwork(settings);
  const own = await ownImages(built);
  const outcomes = new Map<string, Outcome>();
  const ensure = async (daemon: Daemon): Promise<void> => {
    const from = performance.now();
    const outcome = await ensureDaemon(layout, daemon, cgroups);
    outcomes.set(daemon.name, outcome);
    if (outcome !== 'kept')
      say(`${daemon.name} ${outcome}, ready after ${((performance.now() - from) / 1000).toFixed(1)}s`);
  };
  const runtimeOf = (place: Place): Daemon =>
    containerd({
      place,
      built,
      settings,
      sandboxImage: own.pause.name,
      snapshotter: host.snapshotter,
      restrictOomScore: !host.mayLowerOomScore,
    });
  const controlPlane = async (): Promise<void> => {
    await ensure(etcd(plane));
    await ensure(apiServer(plane));
    await Promise.all([ensure(controllerManager(plane)), ensure(scheduler(plane))]);
  };
  const runtimeWithImages = async (place: Place, ensureThere: typeof ensure): Promise<void> => {
    await ensureThere(runtimeOf(place));
    const imported = await importImages(place.layout, built, Object.values(own));
    if (imported.length > 0) say(`imported ${imported.join(', ')}`);
  };
  await Promise.all([controlPlane(), runtimeWithImages(first, ensure)]);
  await Promise.all([ensure(kubelet(plane, settings, first)), ensure(kubeProxy(plane, settings, first))]);
  await nodeReady(built, first.name);
  for (const place of further) {
    const ownCgroups = await createCgroup(place.layout.name);
    const ensureThere = async (daemon: Daemon): Promise<void> => {
      const outcome = await ensureDaemon(place.layout, daemon, ownCgroups);
      outcomes.set(`${daemon.name} of ${place.name}`, outcome);
      if (outcome !== 'kept') say(`${daemon.name} of ${place.name} ${outcome}`);
    };
    await ensureJoinedNetwork(place, settings);
    await runtimeWithImages(place, ensureThere);
    await Promise.all([kubelet, kubeProxy].map((daemon) => ensureThere(daemon(plane, settings, place))));
    await nodeReady(built, place.name);
  }
  for (const node of unwantedNodes(options.nodes)) {
    await removeJoined(node);
    await kubectl(built, ['delete', 'node', node.name, '--ignore-not-found']);
    say(`${node.name} removed`);
  }
  await ensureVolumes((args, input) => kubectl(built, args, input));
  await startDns(built, settings, own.coredns.name);
  if (settings.apiIp !== undefined) await enforcePolicies(plane, ensure);
  return outcomes;
}

async function kubectl(built: Built, args: readonly string[], input?: string): Promise<string> {
  const program = join(built.get('kubernetes')!, 'kubectl');
  return run(program, ['--kubeconfig', kubeconfigOf(layout, 'admin'), ...args], input === undefined ? {} : { input });
}

/** Records the state of the machine before the node first changed it in this boot. */
async function rememberBefore(): Promise<void> {
  const now = await takeSnapshot();
  const before = await readState(Snapshot, snapshotFile);
  if (before === undefined) return writeWhole(snapshotFile, JSON.stringify(now));
  if (before.boot === now.boot) return;
  say('the machine was restarted since: starting everything anew');
  // Sockets and task records of a former boot, because some machines do not empty /run at a reboot.
  await rm(layout.runDir, { recursive: true, force: true });
  await writeWhole(snapshotFile, JSON.stringify({ ...now, lists: { ...now.lists, folders: before.lists.folders } }));
}

async function nodeReady(built: Built, name: string): Promise<void> {
  const ready = async (): Promise<boolean> =>
    (await kubectl(built, ['get', 'node', name, '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'])) ===
    'True';
  if (await ready().catch(() => false)) return;
  const what = `${name} is Ready`;
  await timed(what, () => until({ what, timeoutMs: 120_000, everyMs: 250 }, ready));
}

async function startDns(built: Built, settings: Settings, image: string): Promise<void> {
  const items = dnsManifests(settings, image, nameServers(hostResolvConf()));
  await kubectl(built, APPLY, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  // After a reboot the API server still has the state from before. Query the name service, then look at its pods.
  const names = new Resolver({ timeout: 1_000, tries: 1 });
  names.setServers([settings.dnsAddress]);
  const answered = () =>
    names.resolve4('kubernetes.default.svc.cluster.local').then(
      () => true,
      () => false,
    );
  const shown = async (): Promise<boolean> => {
    const states = await kubectl(built, [
      '-n',
      'kube-system',
      'get',
      'pods',
      '-l',
      'k8s-app=kube-dns',
      '-o',
      'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}',
    ]);
    return /^True( True)*$/.test(states.trim());
  };
  const ready = async (): Promise<boolean> => (await answered()) && (await shown());
  if (await ready()) return;
  await timed('CoreDNS is ready', () => until({ what: 'CoreDNS is ready', timeoutMs: 120_000, everyMs: 250 }, ready));
}

/** The images that the node itself needs, each named after its build. */
async function ownImages(built: Built): Promise<Record<'pause' | 'coredns' | 'podcheck', ImageArchive>> {
  const make = async (part: 'pause' | 'coredns' | 'podcheck'): Promise<ImageArchive> => {
    const folder = built.get(part)!;
    const name = ownImage(part, built);
    const archive = join(folder, 'image.oci.tar');
    if (!existsSync(archive))
      await writeScratchImage(
        { name, files: { [`bin/${part}`]: join(folder, part) }, entrypoint: [`/bin/${part}`] },
        archive,
      );
    return { name, archive };
  };
  return { pause: await make('pause'), coredns: await make('coredns'), podcheck: await make('podcheck') };
}

export function ownImage(part: 'pause' | 'coredns' | 'podcheck', built: Built): string {
  return `localhost/probeyard-node/${part}:${basename(built.get(part)!).slice(part.length + 1)}`;
}
