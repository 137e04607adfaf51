import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Built } from './build.ts';
import { run } from './command.ts';
import { program } from './control_plane.ts';
import type { Daemon } from './daemon.ts';
import { BRIDGE, type Layout } from './layout.ts';
import { SLOWNESS } from '../patience.ts';
import { at, type Place } from './place.ts';
import type { Settings } from './settings.ts';

export interface RuntimeOptions {
  place: Place;
  built: Built;
  settings: Settings;
  sandboxImage: string;
  snapshotter: 'overlayfs' | 'native';
  /** Without CAP_SYS_RESOURCE a process cannot lower its OOM score, and every sandbox would fail. */
  restrictOomScore: boolean;
}

const CNI_FOLDERS = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'];

export function cniFolder(): string | undefined {
  return CNI_FOLDERS.find((folder) =>
    ['bridge', 'host-local', 'loopback'].every((plugin) => existsSync(join(folder, plugin))),
  );
}

export function containerdSocket(layout: Layout): string {
  return join(layout.runDir, 'containerd.sock');
}

export function containerd(options: RuntimeOptions): Daemon {
  const { place, built, settings } = options;
  const { layout } = place;
  const config = join(layout.stateDir, 'config', 'containerd.toml');
  const cniConf = join(layout.stateDir, 'cni', 'net.d');
  const binaries = built.get('containerd')!;
  const runc = program({ built }, 'runc', 'runc');
  const socket = containerdSocket(layout);
  const q = JSON.stringify;
  const toml = `version = 4
root = ${q(join(layout.stateDir, 'containerd'))}
state = ${q(join(layout.runDir, 'containerd'))}
imports = []
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt",
  "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs"]

[plugins."io.containerd.server.v1.grpc"]
  address = ${q(socket)}
[plugins."io.containerd.server.v1.ttrpc"]
  address = ${q(`${socket}.ttrpc`)}
[plugins."io.containerd.shim.v1.manager"]
  socket_dir = ${q(join(layout.runDir, 's'))}

[plugins."io.containerd.cri.v1.images"]
  snapshotter = ${q(options.snapshotter)}
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = ${q(options.sandboxImage)}

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = ${options.restrictOomScore}
  netns_mounts_under_state_dir = true
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = [${q(cniFolder() ?? CNI_FOLDERS[0])}]
  conf_dir = ${q(cniConf)}
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  BinaryName = ${q(runc)}
  Root = ${q(join(layout.runDir, 'runc'))}
  SystemdCgroup = false
`;
  return at(place, {
    name: 'containerd',
    program: join(binaries, 'containerd'),
    args: ['--config', config],
    // containerd finds its shim on the path.
    env: { PATH: `${binaries}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin` },
    files: {
      [config]: toml,
      [join(cniConf, '10-probeyard.conflist')]: JSON.stringify(conflist(place, settings), null, 2),
    },
    ready: async () =>
      (await run(join(binaries, 'ctr'), ['-a', socket, 'version'], { timeoutMs: 5_000 * SLOWNESS })) !== '',
    readyWithinMs: 60_000,
  });
}

function conflist({ layout, address, pods }: Place, { podCidr }: Settings): unknown {
  return {
    cniVersion: '1.0.0',
    name: 'probeyard',
    plugins: [
      {
        type: 'bridge',
        bridge: BRIDGE,
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: podCidr, rangeStart: pods.first, rangeEnd: pods.last, gateway: address }]],
          routes: [{ dst: '0.0.0.0/0' }],
          dataDir: join(layout.stateDir, 'cni', 'leases'),
        },
      },
    ],
  };
}
