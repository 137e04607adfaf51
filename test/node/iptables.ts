import { attempt, run } from './command.ts';
import { RULE_COMMENT } from './layout.ts';

const FAMILIES = ['iptables', 'ip6tables'] as const;
export type Family = (typeof FAMILIES)[number];

/**
 * Chains of kube-proxy and of the kubelet. They belong to the node, because `make up` refuses to start beside chains of
 * another Kubernetes.
 */
const OUR_CHAIN = /^KUBE-/;

/** All rules, or nothing if the machine has no such tables. */
export async function savedRules(family: Family): Promise<string> {
  const result = await attempt(`${family}-save`, []).catch(() => undefined);
  return result?.code === 0 ? result.stdout : '';
}

/** The rules in a form in which two snapshots can be compared: without counters, comments and empty built-in chains. */
export function comparableRules(saved: string): string[] {
  const lines: string[] = [];
  let table = '';
  for (const line of saved.split('\n')) {
    if (line.startsWith('*')) table = line.slice(1);
    else if (line.startsWith(':')) {
      const [chain = '', policy = ''] = line.slice(1).split(' ');
      if (policy !== 'ACCEPT') lines.push(`${table} ${chain} ${policy}`);
    } else if (line.startsWith('-A')) lines.push(`${table} ${line}`);
  }
  return lines.sort();
}

export function isOurRule(comparable: string): boolean {
  return /\bKUBE-/.test(comparable) || comparable.includes(RULE_COMMENT);
}

/**
 * Input for `iptables-restore --noflush` that removes our rules and chains and changes nothing else. It flushes our
 * chains, then deletes rules elsewhere that are ours or lead to ours, then deletes the chains.
 */
export function removalOf(saved: string): string {
  const output: string[] = [];
  for (const block of saved.split(/^(?=\*)/m)) {
    const lines = block.split('\n');
    const table = lines.find((line) => line.startsWith('*'));
    if (table === undefined) continue;
    const chains = lines.filter((line) => line.startsWith(':')).map((line) => line.slice(1).split(' ')[0]!);
    const ours = chains.filter((chain) => OUR_CHAIN.test(chain));
    const rules = lines.filter((line) => line.startsWith('-A ') && !OUR_CHAIN.test(line.slice(3)) && isOurRule(line));
    if (ours.length === 0 && rules.length === 0) continue;
    output.push(
      table,
      ...ours.map((chain) => `:${chain} - [0:0]`),
      ...rules.map((rule) => rule.replace(/^-A/, '-D')),
      ...ours.map((chain) => `-X ${chain}`),
      'COMMIT',
    );
  }
  return output.length === 0 ? '' : `${output.join('\n')}\n`;
}

export async function removeOurRules(): Promise<void> {
  for (const family of FAMILIES) {
    const removal = removalOf(await savedRules(family));
    if (removal !== '') await run(`${family}-restore`, ['--noflush', '-w', '10'], { input: removal });
  }
}

/** Adds a rule unless it exists. */
export async function ensureRule(
  table: string,
  chain: string,
  position: 'append' | 'insert',
  rule: readonly string[],
): Promise<void> {
  const target = rule.indexOf('-j');
  const marked = [...rule.slice(0, target), '-m', 'comment', '--comment', RULE_COMMENT, ...rule.slice(target)];
  const there = await attempt('iptables', ['-w', '10', '-t', table, '-C', chain, ...marked]);
  if (there.code !== 0)
    await run('iptables', ['-w', '10', '-t', table, position === 'append' ? '-A' : '-I', chain, ...marked]);
}
