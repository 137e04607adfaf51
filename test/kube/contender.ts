/**
 * A contender for the leader election, which writes its epoch while it leads, as a controller would. The child process
 * of lease.test.ts.
 */
import { CONFIG_MAPS } from '../../src/platform/kube/client.ts';
import { kubeClient } from './kubeconfig.ts';
import { startElection } from '../../src/platform/kube/lease.ts';

const [kubeconfig, namespace, holder, durationMs, breathMs] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
const duration = Number(durationMs);
/** The monotonic clock of the machine, comparable between processes. */
const now = () => Number(process.hrtime.bigint() / 1000n) / 1000;
const tell = (what: string, more: object = {}) =>
  process.stdout.write(`${JSON.stringify({ what, at: now(), ...more })}\n`);

const own = await kubeClient({ kubeconfig, namespace });
const calls = await kubeClient({ kubeconfig, namespace });
const election = startElection({
  client: own,
  name: 'leader',
  holder,
  durationMs: duration,
  renewMs: duration / 3,
  marginMs: duration / 6,
  onLead: ({ epoch }) => tell('leads', { epoch }),
  onLost: (why) => {
    tell('lost', { why });
  },
  onError: (error) => process.stderr.write(`${holder}: ${String(error)}\n`),
});
tell('started', { identity: election.identity });

const ending = new AbortController();
process.once('SIGTERM', () => {
  ending.abort();
  void election.stop().then(() => {
    tell('stopped');
    return Promise.all([own.close(), calls.close()]);
  });
});

while (!ending.signal.aborted) {
  const epoch = election.leading();
  if (epoch !== undefined && election.stillLeading(duration / 6)) {
    await calls
      .mergePatch(
        CONFIG_MAPS,
        'admissions',
        { data: { epoch: String(epoch), holder } },
        { deadlineMs: 2000, serverTimeoutMs: duration / 6 - 100 },
      )
      .then(
        () => tell('wrote', { epoch }),
        (error: unknown) => process.stderr.write(`${holder}: ${String(error)}\n`),
      );
  }
  await new Promise((resolve) => {
    setTimeout(resolve, Number(breathMs));
  });
}
