/**
 * Node's HTTP client. By `import`, Node reads all that the module exports, one of which loads undici: 45 ms of CPU,
 * more than the rest of a start.
 */
import type { request } from 'node:http';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const requestFor = ({ protocol }: URL): typeof request =>
  (require(protocol === 'https:' ? 'node:https' : 'node:http') as { request: typeof request }).request;
