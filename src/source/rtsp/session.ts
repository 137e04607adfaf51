import { SourceError } from '../error.ts';
import type { RelayContext } from '../relay.ts';
import type { Session, Sink } from '../stream/live.ts';
export async function openRtsp(_c: RelayContext, _s: Sink): Promise<Session> { throw new SourceError('origin-unreachable','later'); }
