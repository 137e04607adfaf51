/**
 * Every operation of the interface, in the order of its description. An endpoint that is not here is described nowhere.
 */
import { MANAGEMENT } from '../endpoints.ts';
import type { Operation } from './operation.ts';
import { probeFileGet, probeFilePost } from './probe_file.ts';
import { probeReadOperation } from './probe_read.ts';
import { PROBE_SINGLE } from './probe_single.ts';
import { SERVICE } from './service.ts';

export const OPERATIONS: readonly Operation[] = [
  probeFileGet,
  probeFilePost,
  ...PROBE_SINGLE,
  probeReadOperation,
  ...MANAGEMENT.map(({ operation }) => operation),
  ...SERVICE,
];
