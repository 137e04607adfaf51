/** What a taken-over tool may leave in its pod, and what the next job must not find. */
import type { Attempt } from './attacker.ts';

const REFUSED: RegExp = /^(?:EACCES|EPERM)$/;

export const leaving: Attempt[] = [
  { name: 'a file in its directory', do: 'write|/work/left', expect: /^written$/ },
  { name: 'a file 300 directories deep', do: 'deep|/work|300', expect: /^300 levels$/ },
  { name: 'a file in shared memory', do: 'write|/dev/shm/left', expect: /^written$/ },
  { name: "a file beside the launcher's socket", do: 'write|/run/probeyard/left', expect: /^(?:written|EACCES)$/ },
  { name: "a message in the pod's status", do: 'write|/dev/termination-log', expect: /^(?:written|EACCES)$/ },
  { name: 'a queue, as a file', do: 'write|/dev/mqueue/left', expect: /^(?:written|EACCES|EINVAL|EBADF)$/ },
  { name: 'a queue, by its call', do: 'mq', expect: REFUSED },
  { name: 'System V shared memory', do: 'shm', expect: REFUSED },
  { name: 'a System V semaphore', do: 'sem', expect: REFUSED },
  { name: 'a System V queue', do: 'msg', expect: REFUSED },
  { name: 'an attribute of a directory that stays', do: 'xattr|/work', expect: REFUSED },
  { name: 'a process in a session of its own', do: 'stay|/work/alive', expect: /^stays$/ },
];

/** What the second job in the same pod finds of the first. */
export const finding: Attempt[] = [
  { name: 'the next job: processes', do: 'processes', expect: /^0 others$/ },
  { name: 'the next job: files in its directory', do: 'list|/work', expect: /^$/ },
  { name: 'the next job: shared memory', do: 'list|/dev/shm', expect: /^$/ },
  { name: "the next job: beside the launcher's socket", do: 'list|/run/probeyard', expect: /^launcher\.sock$/ },
  { name: "the next job: the pod's status", do: 'read|/dev/termination-log', expect: /^(?:empty|EACCES|ENOENT)$/ },
  { name: 'the next job: queues', do: 'list|/dev/mqueue', expect: /^(?:EACCES|ENOENT)?$/ },
  { name: 'the next job: an attribute', do: 'xattrfind|/work', expect: /^(?:ENODATA|EOPNOTSUPP|ENOTSUP)$/ },
  { name: 'the next job: System V shared memory', do: 'shmfind', expect: /^(?:ENOENT|EPERM)$/ },
  { name: 'the next job: a key', do: 'keyfind', expect: /^(?:ENOKEY|EPERM|ENOSYS)$/ },
  { name: 'the next job: changed limits', do: 'files', expect: /^256$/ },
];
