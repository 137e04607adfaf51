/** What this process holds, without what a collection frees: when one comes by itself is chance. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export function heldBytes(of: 'heapUsed' | 'arrayBuffers' = 'heapUsed'): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage()[of];
}
