/** `GET|POST /v1/probe/c2pa`: what a file's C2PA manifest says, and whether it holds. */
import { endpoint } from '../http/endpoint.ts';
import { C2PA } from './description/single.ts';
import type { ProbeC2pa } from './schema/single.ts';
import { probeSingle, type Single } from './single.ts';

const tool: Single<ProbeC2pa> = { tool: 'c2pa', options: () => ({}) };

export const c2paByQuery = endpoint('GET /v1/probe/c2pa', C2PA.byQuery, probeSingle(tool));
export const c2paByBody = endpoint('POST /v1/probe/c2pa', C2PA.byBody, probeSingle(tool));
