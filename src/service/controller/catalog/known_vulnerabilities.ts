/** What is known of the vulnerabilities of a tool version, in `status.warning` of its ProbeTool. */
import { PROBE_TOOLS, type KubeClient } from '../../../platform/kube/client.ts';
import { ensureLeading, type Term } from '../leader/lease_guard.ts';
import { READ, VULNERABILITIES, type Known } from '../../../media/tools/vulnerabilities.ts';

const NOTE = `From Debian's changelogs of ${READ}, not complete; docs/isolation.md has what contains them.`;

/** Nothing is ever called unaffected. */
export function warningText({ affected, unclear }: Known): string {
  const known = affected.length > 0 ? `affected by ${affected.join(', ')}` : 'no vulnerability is known for certain';
  const open = unclear > 0 ? `; of ${unclear} others it is not known` : '';
  return `${known}${open}. ${NOTE}`.slice(0, 4096);
}

/** Writes the warnings of all tools, or removes them if the operator does not want them. */
export async function showKnownVulnerabilities(
  { kube, term }: { kube: KubeClient; term: Term },
  isWanted: boolean,
): Promise<void> {
  for (const { metadata, spec, status } of (await kube.listAll(PROBE_TOOLS)).items) {
    const known = isWanted ? VULNERABILITIES[`${spec.tool} ${spec.version}`] : undefined;
    const warning = known && warningText(known);
    if (status?.warning === warning) continue;
    await ensureLeading(term);
    // A field of its own: the proof of the tool may write its conditions at the same time.
    await kube.mergePatchStatus(PROBE_TOOLS, metadata.name, { warning: warning ?? null });
  }
}
