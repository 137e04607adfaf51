/** The same tools as in the pods, without pods. They are unpacked from the image that the ProbeTool names. */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROBE_TOOLS } from '../../src/platform/kube/client.ts';
import type { ToolName } from '../../src/media/tools/table.ts';
import { TOOL_TABLE } from '../../src/media/tools/table.ts';
import { NAMESPACE, type Cluster } from '../../test/cluster/fixture.ts';

const exec = promisify(execFile);
const images = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'probeyard', 'images');

export interface BareTool {
  version: string;
  image: string;
  command: string[];
  /** Returns its output. */ run(address: string): Promise<string>;
}

function unpack(image: string, into: string): void {
  const digest = image.slice(image.indexOf('@') + 1);
  const folder = readdirSync(images)
    .map((name) => join(images, name))
    .find((path) => existsSync(join(path, 'digest')) && readFileSync(join(path, 'digest'), 'utf8').trim() === digest);
  if (folder === undefined) throw new Error(`${image} is not among the images that were built here`);
  const archive = join(folder, 'image.tar');
  const read = (path: string) =>
    execFileSync('tar', ['--extract', '--to-stdout', '--file', archive, '--wildcards', '--no-anchored', path], {
      maxBuffer: 1 << 30,
    });
  const blob = (of: string) => read(`blobs/${of.replace(':', '/')}`);
  const manifest = JSON.parse(blob(digest).toString()) as { layers: { digest: string }[] };
  mkdirSync(into, { recursive: true });
  for (const layer of manifest.layers) {
    const bytes = blob(layer.digest);
    execFileSync('tar', ['--extract', ...(bytes[0] === 0x1f ? ['--gzip'] : []), '--directory', into], { input: bytes });
  }
}

/** The latest version of each, or the given one. `remove` deletes them again. */
export async function bareTools(
  c: Cluster,
  names: readonly ToolName[],
  versions: Partial<Record<ToolName, string>> = {},
): Promise<{ tools: Record<string, BareTool>; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-bench-tools-'));
  const { items } = await c.kube.listAll(PROBE_TOOLS, { namespace: NAMESPACE });
  const tools: Record<string, BareTool> = {};
  for (const name of names) {
    const spec = items.find(
      (item) =>
        item.spec.tool === name &&
        (versions[name] === undefined ? item.spec.latest : item.spec.version === versions[name]),
    )?.spec;
    const tool = TOOL_TABLE[name];
    if (!spec || !tool) throw new Error(`the cluster has no ${name} ${versions[name] ?? 'latest'}`);
    const root = join(folder, name);
    unpack(spec.image, root);
    const command = spec.command.map((part) => part.replaceAll('{root}', root));
    tools[name] = {
      version: spec.version,
      image: spec.image,
      command: spec.command,
      run: async (address) => {
        const [program = '', ...rest] = [
          ...command,
          ...(name === 'mediainfo' ? ['--Ssl_IgnoreSecurity'] : []),
          ...tool.args({}, address),
        ];
        return (await exec(program, rest, { maxBuffer: 64 << 20, env: { LC_ALL: 'C.UTF-8', HOME: '/tmp' } })).stdout;
      },
    };
  }
  return { tools, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
