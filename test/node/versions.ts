/** The versions that the node runs: the project's own, or others by `make up KUBERNETES=1.33 HELM=3`. */
import { buildParts, type Built } from './build.ts';
import { ClusterError } from './cluster_error.ts';
import { POLICY_DAEMON } from './daemons.ts';
import { wantsPolicies } from './network_policies.ts';
import { NODE_PARTS, PARTS, type PartName } from './parts.ts';

const CHOICES = { KUBERNETES: 'kubernetes', HELM: 'helm' } as const;

/** The parts of other versions that one part has, by version. */
export const otherVersions = (part: PartName): ReadonlyMap<string, PartName> =>
  new Map(
    (Object.keys(PARTS) as PartName[])
      .filter((name) => name.startsWith(`${part}-`) && /^\d/.test(name.slice(part.length + 1)))
      .map((name) => [name.slice(part.length + 1), name]),
  );

/** As `1.36` of 1.36.3, or `4` where the version has no more. */
export const shortVersion = (part: PartName): string => PARTS[part].version.split('.').slice(0, 2).join('.');

/** What stands for a part of the node. */
function chosen(part: PartName, env: NodeJS.ProcessEnv): PartName {
  const variable = Object.entries(CHOICES).find(([, name]) => name === part)?.[0];
  const version = variable === undefined ? undefined : env[variable];
  if (!version || version === shortVersion(part)) return part;
  const others = otherVersions(part);
  const found = others.get(version);
  if (found === undefined)
    throw new ClusterError(
      'NO_SUCH_VERSION',
      `${variable}=${version}: there are ${[...others.keys(), shortVersion(part)].join(', ')}`,
    );
  return found;
}

const wanted = (env: NodeJS.ProcessEnv): PartName[] =>
  wantsPolicies(env) ? [...NODE_PARTS, POLICY_DAEMON] : [...NODE_PARTS];

/** The parts to build for the node. */
export const nodeParts = (env: NodeJS.ProcessEnv = process.env): PartName[] =>
  wanted(env).map((part) => chosen(part, env));

/** Builds them. Each is found under the name of the node's part, whatever its version. */
export async function buildNode(env: NodeJS.ProcessEnv = process.env): Promise<Built> {
  const built = await buildParts(nodeParts(env));
  return new Map(wanted(env).map((part) => [part, built.get(chosen(part, env))!]));
}

/** Kubernetes mounts images as volumes by default from 1.35. */
export const IMAGE_VOLUMES = 35;

/** Whether the node's Kubernetes gets all tools in one image. */
export function needsBundled(env: NodeJS.ProcessEnv = process.env): boolean {
  const [, minor] = PARTS[chosen('kubernetes', env)].version.split('.');
  return Number(minor) < IMAGE_VOLUMES;
}
