/** All operations, in the order of the description. An endpoint that is missing here is not described. */
import { ENDPOINTS } from '../endpoints.ts';
import type { Operation } from './operation.ts';
import { mcpOperation } from '../mcp/endpoint.ts';
import { SERVICE } from './service.ts';

export const OPERATIONS: readonly Operation[] = [
  ...ENDPOINTS.map(({ operation }) => operation),
  mcpOperation,
  ...SERVICE,
];
