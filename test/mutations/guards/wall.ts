/** What a tool that was taken over meets: the filter of its system calls, what is left behind by a job, and whose credentials go where. design.md 5. */
import type { Mutation } from '../mutation.ts';

const WALL = 'test/runner/wall.test.ts';
const C = 'images/probeyard/launcher/wall.c';
const LAUNCHER = 'images/probeyard/launcher/launcher.c';
const JOB = 'src/source/job.ts';
const CREDENTIALS = 'test/source/proxy_credentials.test.ts';

export const wall: readonly Mutation[] = [
  { guard: 'a tool connects to the port of its own source alone', file: C, from: 'return is_port(ports, port) ? port : 0;', to: 'return is_port(ports, port) || port ? port : 0;', test: WALL },
  { guard: 'a tool connects to its own machine alone', file: C, from: ' && address.v4.sin_addr.s_addr == htonl(INADDR_LOOPBACK)', to: '', test: WALL },
  { guard: 'the launcher makes the connection, not the tool', file: C, from: 'end_with(SECCOMP_RET_USER_NOTIF);', to: 'end_with(SECCOMP_RET_ALLOW);', test: WALL },
  { guard: 'no connection opens with the first bytes that are sent', file: C, from: '  refuse_with_flag(__NR_sendto, 3, MSG_FASTOPEN);\n', to: '', test: WALL },
  { guard: 'a tool makes sockets of TCP alone', file: C, from: 'op(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 0, 3);', to: 'op(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 0, 0);', test: WALL },
  { guard: 'nothing is left in System V shared memory', file: C, from: '__NR_shmget, ', to: '', test: WALL },
  { guard: 'nothing is left in an attribute of a file', file: C, from: ' __NR_setxattr,\n', to: '\n', test: WALL },
  { guard: 'a tool does not change the limits of the launcher', file: C, from: '__NR_prlimit64, ', to: '', test: WALL },
  { guard: 'a tool cannot tell the launcher to end', file: LAUNCHER, from: ' && (!is_init || info.ssi_pid == 0)', to: '', test: WALL },
  { guard: 'a place that is nested deeply is emptied, too', file: LAUNCHER, from: '      renameat(dirfd(list), name, top, up);\n', to: '', test: WALL },
  { guard: 'what lies beside the launcher\'s socket goes with the job', file: LAUNCHER, from: '  clean &= empty_all(socket_dir, socket_name);\n', to: '', test: WALL },
  { guard: 'a pod whose socket was touched is not used again', file: LAUNCHER, from: ' && now.st_mode == own_socket.st_mode', to: '', test: WALL },
  { guard: 'credentials of a file go to no other address', file: JOB, from: 'unsigned || (url !== this.main && !this.#hasParts)', to: 'unsigned', test: CREDENTIALS },
  { guard: 'only what is a list has parts', file: JOB, from: 'if (url === this.main) this.#hasParts = true;', to: 'this.#hasParts = true;', test: CREDENTIALS },
];
