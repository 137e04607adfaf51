/**
 * Every operation of the interface, in the order of its description. An endpoint that is not here is described nowhere.
 */
import { ENDPOINTS } from '../endpoints.ts';
import type { Operation } from './operation.ts';
import { SERVICE } from './service.ts';

export const OPERATIONS: readonly Operation[] = [...ENDPOINTS.map(({ operation }) => operation), ...SERVICE];
