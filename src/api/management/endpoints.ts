/** Every endpoint of the management side. */
import type { Endpoint } from './endpoint.ts';

export const MANAGEMENT: readonly Endpoint[] = [
];
