/** What holds hostile media: the launcher, the caps on what tools use and print, the pods that they run in. design.md 5. */
import type { Mutation } from '../mutation.ts';

const LAUNCHER = 'test/runner/launcher.test.ts';
const AGENT = 'test/runner/agent.test.ts';
const C = 'images/probeyard/launcher/launcher.c';
const PODS = 'test/controller/runner_pod.test.ts';
const POD = 'src/controller/pod.ts';

export const runner: readonly Mutation[] = [
  { guard: 'a tool has no more memory than its limit', file: C, from: '  limit(RLIMIT_DATA, limits->data, limits->data);\n', to: '', test: LAUNCHER, grep: 'holds a tool to its CPU time' },
  { guard: 'a tool has no more CPU time than its limit', file: C, from: '  limit(RLIMIT_CPU, limits->cpu, (uint64_t)limits->cpu + 1);\n', to: '', test: LAUNCHER, grep: 'holds a tool to its CPU time' },
  { guard: 'a tool writes no larger files than its limit', file: C, from: '  limit(RLIMIT_FSIZE, limits->file, limits->file);\n', to: '', test: LAUNCHER, grep: 'holds a tool to its CPU time' },
  { guard: 'a tool opens no more files than its limit', file: C, from: '  limit(RLIMIT_NOFILE, limits->files, limits->files);\n', to: '', test: LAUNCHER, grep: 'holds a tool to its CPU time' },
  { guard: 'a tool starts no more processes than its limit', file: C, from: '  limit(RLIMIT_NPROC, limits->processes, limits->processes);\n', to: '', test: 'test/runner/launcher_privacy.test.ts', grep: 'more processes than its limit' },
  { guard: 'a tool whose time is up is ended', file: C, from: 'kill_tool(tool, TIMED_OUT);', to: '', test: LAUNCHER, grep: 'wall time is up' },
  { guard: 'a tool that prints more than its cap is ended', file: C, from: 'if (type == OUT) kill_tool(tool, CAPPED);', to: '', test: LAUNCHER, grep: 'prints more than its cap' },
  { guard: 'of what a tool prints no more than its cap is passed on', file: C, from: 'if ((uint64_t)got > *left) got = (ssize_t)*left;\n    *left -= (uint64_t)got;', to: '*left -= (uint64_t)got < *left ? (uint64_t)got : *left;', test: LAUNCHER, grep: 'prints more than its cap' },
  { guard: 'what left the process group is ended with the job', file: C, from: 'if (pid > 1) {', to: 'if (pid > 1 << 30) {', test: LAUNCHER, grep: 'ends what left the process group' },
  { guard: 'the directory of a job is emptied for the next', file: C, from: 'return wipe() && clean;', to: 'return clean;', test: LAUNCHER, grep: 'ends what left the process group' },
  { guard: 'everything is ended when the agent goes away', file: C, from: 'request_len = event_from = event_to = 0;\n  kill_all();', to: 'request_len = event_from = event_to = 0;', test: LAUNCHER, grep: 'ends everything when the agent goes away' },
  { guard: 'a tool gets no file of the launcher', file: C, from: '  syscall(SYS_close_range, 3u, ~0u, 0u);\n', to: '', test: LAUNCHER, grep: 'no other file descriptor' },
  { guard: 'a tool cannot look into the launcher', file: C, from: '  if (prctl(PR_SET_DUMPABLE, 0) < 0) die("dumpable");\n', to: '', test: 'test/runner/launcher_privacy.test.ts' },
  { guard: 'a tool gains no privilege', file: C, from: '  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) die("no_new_privs");\n', to: '', test: LAUNCHER, grep: 'no other file descriptor' },
  { guard: 'an agent that talks nonsense is cut off', file: C, from: 'if (length == 0 || length > REQUEST_BYTES - 4) return 0;', to: 'if (length == 0) return 0;', test: LAUNCHER, grep: 'does not keep to the protocol' },
  { guard: 'the output of a slow agent is kept in the pipe, not in memory', file: C, from: 'if (room < PIECE + RESERVE) return 0;', to: 'if (room < PIECE + RESERVE) event_from = event_to = 0;', test: LAUNCHER, grep: 'does not read a tool on' },
  { guard: 'nothing starts before what ran before is gone', file: 'src/runner/agent.ts', from: "if (!done) drain('the container of the tools is not clean');", to: '', test: 'test/runner/agent_unclean.test.ts' },
  { guard: 'a cancelled job publishes nothing', file: 'src/runner/agent.ts', from: "if (job.signal.aborted) return;\n    void cleanUp();", to: 'void cleanUp();', test: AGENT, grep: 'ends a cancelled job' },
  { guard: 'the time of the request bounds each tool', file: 'src/runner/job.ts', from: 'Math.floor(Math.min(asked.timeoutMs, remainingMs))', to: 'asked.timeoutMs', test: AGENT, grep: 'when the time of the request is up' },
  { guard: 'a tool that is over its cap failed, whatever it printed', file: 'src/runner/job.ts', from: "if (exit.capped) return fail('output-too-large'", to: "if (false) return fail('output-too-large'", test: AGENT, grep: ', and the other tool' },
  { guard: 'running out of memory is the failure of the tool', file: 'src/runner/job.ts', from: "if (error.code === 'lost') return fail('out-of-memory'", to: "if (error.code === 'lost') return fail('crashed'", test: AGENT, grep: 'running out of memory of the whole container' },
  { guard: 'what is no JSON does not pass for a result', file: 'src/runner/job.ts', from: "if (format === 'json' && !isJson(stdout))", to: 'if (false)', test: AGENT, grep: ', and the other tool' },
  { guard: 'an option of a job is one that the table knows', file: 'src/tools/option.ts', from: "if (!known.has(name)) throw", to: 'if (false) throw', test: 'test/runner/tools.test.ts' },
  { guard: 'a tool opens no file that a playlist names', file: 'src/runner/tools/ffprobe.ts', from: "'-protocol_whitelist', PROTOCOLS", to: "'-protocol_whitelist', `${PROTOCOLS},file`", test: 'test/runner/tools.test.ts' },
  { guard: 'the tools\' container has no token of the cluster', file: POD, from: 'automountServiceAccountToken: false', to: 'automountServiceAccountToken: true', test: PODS },
  { guard: 'the tools run as another user than the agent', file: POD, from: 'const TOOLS_UID = 65533;', to: 'const TOOLS_UID = 65532;', test: PODS },
  { guard: 'no process gets more than it was started with', file: POD, from: 'allowPrivilegeEscalation: false,', to: 'allowPrivilegeEscalation: true,', test: PODS },
  { guard: 'no container keeps a capability', file: POD, from: "capabilities: { drop: ['ALL'] },", to: 'capabilities: {},', test: PODS },
  { guard: 'the identity for NATS is the agent\'s alone', file: POD, from: "            { name: 'work', mountPath: '/work' },\n            ...(settings.c2pa", to: "            { name: 'work', mountPath: '/work' },\n            { name: 'nats-token', mountPath: '/var/run/probeyard/nats-token' },\n            ...(settings.c2pa", test: PODS },
  { guard: 'the token of a pod is for NATS alone', file: POD, from: "audience: 'probeyard-nats', ", to: '', test: PODS },
  { guard: 'tool images come from registries of the list', file: 'src/controller/tools.ts', from: "image.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`)", to: 'image.startsWith(prefix)', test: 'test/controller/tool_proof.test.ts', grep: 'registries that tools may come from' },
];
