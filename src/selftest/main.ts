/**
 * The role `selftest`, run by `helm test`: checks that the API answers, and that the cluster enforces NetworkPolicy.
 */
import { setTimeout as delay } from 'node:timers/promises';

const API_MS = 30_000;
const TRY_MS = 3_000;

async function answers(url: string, ms: number): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(ms) });
    return response.ok ? undefined : `HTTP ${response.status}`;
  } catch (error) {
    return String((error as Error).cause ?? error);
  }
}

async function api(url: string): Promise<boolean> {
  const end = performance.now() + API_MS;
  let problem = await answers(url, TRY_MS);
  while (problem !== undefined && performance.now() < end) {
    await delay(500);
    problem = await answers(url, TRY_MS);
  }
  console.log(problem === undefined ? `the API answers at ${url}` : `the API does not answer at ${url}: ${problem}`);
  return problem === undefined;
}

/** Runs in a pod whose policy only permits DNS: if it gets through, policies are not enforced. */
async function network(url: string, required: boolean): Promise<boolean> {
  const held = (await answers(url, TRY_MS)) !== undefined;
  console.log(
    held
      ? 'NetworkPolicy is enforced: a pod that may not reach the API does not'
      : 'NetworkPolicy is NOT enforced by this cluster: runners are held by their source proxy alone, ' +
          'not by the network as well',
  );
  return held || !required;
}

export async function run(): Promise<void> {
  const { PY_SELFTEST: what, PY_SELFTEST_URL: url = '', PY_SELFTEST_REQUIRE_NETWORK_POLICY: required } = process.env;
  const ok = what === 'network' ? await network(url, required === 'true') : await api(url);
  process.exitCode = ok ? 0 : 1;
}
