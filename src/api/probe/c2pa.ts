/** `GET|POST /v1/probe/c2pa`: what a file's C2PA manifest says, and whether it holds. */
import type { Handler } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { makeReader } from '../http/input/read.ts';
import { probeSingle } from './single.ts';
import { ProbeC2paSchema, type ProbeC2pa } from './schema/single.ts';

const read = makeReader<ProbeC2pa>(ProbeC2paSchema);

export const probeC2pa = (deps: Deps): Handler[] => probeSingle(deps, { tool: 'c2pa', read, options: () => ({}) });
