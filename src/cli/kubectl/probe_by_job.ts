/** `probe` and `result`: what is in a file, by a ProbeJob. */
import { randomBytes } from 'node:crypto';
import type { Envelope } from '../../api_types.ts';
import { pause } from '../api/api_client.ts';
import type { Invocation, Run } from '../command.ts';
import { conditionOf } from '../../platform/kube/conditions.ts';
import { EXIT, Failure, Interrupted, usage, type ExitCode } from '../exits.ts';
import { duration } from '../output/text_table.ts';
import { checkedSource, shownSource } from '../given_source.ts';
import { envelopeText } from '../output/envelope_text.ts';
import { writeAnswer } from '../output/write_answer.ts';
import { oneLine } from '../terminal.ts';
import { times, versions } from '../commands/request_options.ts';
import { explain } from './explain_job.ts';
import { withApi } from './forwarded.ts';
import { jobName, kubectlOf, kubectlOfRelease, type Kubectl } from './run_kubectl.ts';
import { hasEnded, stateOf, type Job } from './cluster_resources.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 2_000;
/** The longest that a job may wait and run, and what its end takes. */
const LONGEST_MS = 60_000 + 650_000 + 30_000;

/** A job made by hand must not hold a credential: it would stand in the resource. */
function sourceOf(invocation: Invocation): object {
  const [url] = invocation.positionals;
  const secret = invocation.text('secret');
  if (secret !== undefined) {
    if (url !== undefined) throw usage('probe: an address and --secret: give one of them');
    const [name, key] = secret.split('/');
    return { secretRef: { name, ...(key === undefined ? {} : { key }) } };
  }
  if (url === undefined) throw usage('probe: URL is missing');
  checkedSource(url);
  if (/[?#]|:\/\/[^/]*@/.test(url))
    throw usage(
      'probe: an address with user info, a query or a fragment would stand in the resource, where others read it',
      'put it into a Secret with the label probeyard.dev/source=true, and name that: --secret NAME or NAME/KEY',
    );
  return { url };
}

const jobOf = (invocation: Invocation, name: string, createdBy?: string): object => {
  const tools = Object.entries(versions(invocation)).map(([tool, { version }]) => ({ name: tool, version }));
  const { timeout: timeoutMs, queue_timeout: queueTimeoutMs } = times(invocation);
  const policy = invocation.text('policy');
  return {
    apiVersion: 'probeyard.dev/v1alpha1',
    kind: 'ProbeJob',
    metadata: { name },
    spec: {
      createdBy,
      source: sourceOf(invocation),
      report: { enabled: true },
      tools: tools.length === 0 ? undefined : tools,
      timeoutMs,
      queueTimeoutMs,
      policy: policy === undefined ? undefined : { name: policy },
    },
  };
};

/** In the namespace of a tenant a job names its creator, where no policy of the cluster writes that. */
async function create(kubectl: Kubectl, invocation: Invocation, name: string): Promise<void> {
  const send = (createdBy?: string) =>
    kubectl.run(['create', '--filename=-'], {
      input: JSON.stringify(jobOf(invocation, name, createdBy)),
      whole: true,
    });
  try {
    await send();
  } catch (error) {
    if (!(error instanceof Failure) || !error.message.includes('spec.createdBy')) throw error;
    await send((await kubectl.run(['auth', 'whoami', '--output=jsonpath={.status.userInfo.username}'])).trim());
  }
}

async function untilEnded(kubectl: Kubectl, name: string, { terminal, signal }: Invocation): Promise<Job> {
  const began = performance.now();
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(LONGEST_PAUSE_MS, wait * 1.3)) {
    await pause(wait, signal);
    const job = await kubectl.get<Job>('probejob', name);
    if (hasEnded(job)) return job;
    const elapsed = performance.now() - began;
    if (elapsed > LONGEST_MS)
      throw new Failure(explain({ job, pools: [], tools: [], events: [], now: Date.now() }).sentence, EXIT.unknown);
    const message = conditionOf(job.status, 'Succeeded')?.message ?? '';
    terminal.progress(`${stateOf(job)} ${duration(elapsed)} ${message}`);
  }
}

async function printResult(invocation: Invocation, job: Job): Promise<ExitCode> {
  const { format, terminal } = invocation;
  if (!hasEnded(job))
    throw new Failure(`${job.metadata.name} has not ended: ${stateOf(job)}`, EXIT.unknown, {
      hint: `kubectl probeyard explain ${job.metadata.name}`,
    });
  const id = job.status?.resultPath?.split('/').at(-1) ?? job.metadata.uid ?? '';
  const { body } = await withApi(kubectlOfRelease(invocation), invocation, (api) =>
    api.ask('GET /v1/probe/:id', { params: { id } }),
  );
  const answer = JSON.parse(body.toString()) as Envelope;
  if (format === 'table' && !('runs' in answer) && !('output' in answer))
    await terminal.data(
      envelopeText(terminal, shownSource(job.spec.source.display ?? job.spec.source.url ?? id), answer),
    );
  else await writeAnswer(invocation, body);
  return answer.success ? EXIT.done : EXIT.failed;
}

const run: Run = async (invocation): Promise<ExitCode> => {
  const { terminal } = invocation;
  const kubectl = kubectlOf(invocation);
  const name = `probe-${randomBytes(4).toString('hex')}`;
  await create(kubectl, invocation, name);
  let job: Job;
  try {
    job = await untilEnded(kubectl, name, invocation);
  } catch (error) {
    if (error instanceof Interrupted) {
      // Deleting a job that has not ended cancels it.
      await kubectl.run(['delete', 'probejob', name, '--wait=false'], { whole: true }).catch(() => {});
      terminal.note(`cancelled ${name}`);
    }
    throw error;
  }
  terminal.note(`${name}: ${stateOf(job)}${job.status?.summary ? `: ${oneLine(job.status.summary)}` : ''}`);
  if (stateOf(job) !== 'Completed' && stateOf(job) !== 'ToolFailed') {
    terminal.note(`why: kubectl probeyard explain ${name}`);
    return EXIT.failed;
  }
  return printResult(invocation, job);
};
export default run;

export const runResult: Run = async (invocation) => {
  const kubectl = kubectlOf(invocation);
  const job = await kubectl.get<Job>('probejob', jobName(invocation.positionals[0]!));
  return printResult(invocation, job);
};
