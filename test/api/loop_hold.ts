/**
 * Loaded into a process before its program (`--import`). Between the messages `watch` and `held` it turns the event
 * loop without a pause, and then sends the CPU time in ms that the longest turn took: time in which the process does
 * not run does not count, so that a busy machine does not matter.
 */
import { isMainThread } from 'node:worker_threads';

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

let isWatching = false;
let heldMs = 0;
let turnedAt = 0;

function turn(): void {
  if (!isWatching) return;
  const now = cpuMs();
  heldMs = Math.max(heldMs, now - turnedAt);
  turnedAt = now;
  setImmediate(turn);
}

// Worker threads load it as well.
if (isMainThread) {
  process.on('message', (message) => {
    isWatching = message === 'watch';
    if (!isWatching) return process.send!(heldMs);
    heldMs = 0;
    turnedAt = cpuMs();
    setImmediate(turn);
    return process.send!('watching');
  });
  process.channel!.unref();
}
