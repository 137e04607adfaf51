/**
 * Probe endpoints take API tokens alone. The page reads the text of one into memory; where tokens cannot be read again
 * it makes one that ends with the session.
 */
import { makeCell } from '../cell.ts';
import { isFailure, call } from './client.ts';
import type { Failure } from './failure.ts';

export interface HeldToken {
  id: number;
  text: string;
  /** Made by this page: it was not chosen. */
  made: boolean;
}

export const MADE_NAME = 'Console, until the session ends';

/** `null` stands for the token that this page makes. */
const held = new Map<number | null, Promise<HeldToken>>();

/** A token must not be made for longer than what makes it; a moment passes until it is made. */
const MOMENT_S = 30;
const SOON_MS = 1_800_000;

/** By the clock of the server that made it, not by that of this machine. */
function lifeOf(jwt: string): number {
  const { iat, exp } = JSON.parse(atob(jwt.split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/'))) as {
    iat: number;
    exp: number;
  };
  return Math.max(1, exp - iat - MOMENT_S) * 1_000;
}

/** Of a visit before, where its text can be read. One that ends soon is left. */
async function madeBefore(): Promise<HeldToken | null> {
  const { 'api-tokens': tokens } = await call('GET auth/api-token', {
    query: { pagination: { page: 1, limit: 100 }, sort: { field: 'id', order: 'desc' } },
  });
  const last = tokens.find(({ name }) => name === MADE_NAME);
  if (!last || last.expires === undefined || Date.parse(last.expires) - Date.now() < SOON_MS) return null;
  const { id, token } = await call('GET auth/api-token/:id', { params: { id: last.id } });
  return token === undefined ? null : { id, text: token, made: true };
}

async function make(): Promise<HeldToken> {
  // A token that a JWT of the session makes ends with it; one that the session itself makes does not.
  const { token: bearer } = await call('POST auth/jwt', { body: { 'long-term-token': false } });
  const body = { name: MADE_NAME, ttl: lifeOf(bearer), permissions: null };
  const { id, token } = await call('POST auth/api-token', { body, bearer });
  return { id, text: token!, made: true };
}

async function read(id: number | null): Promise<HeldToken> {
  if (id === null) return (await madeBefore()) ?? make();
  const { token } = await call('GET auth/api-token/:id', { params: { id } });
  return token === undefined ? tokenFor(null) : { id, text: token, made: false };
}

/** The token with this id, or one that is made where it cannot be read. Asked for once in the life of the page. */
export function tokenFor(id: number | null): Promise<HeldToken> {
  const there = held.get(id);
  if (there) return there;
  const made = read(id);
  held.set(id, made);
  made.catch(() => held.delete(id));
  return made;
}

/** How often the tokens of the page were forgotten: then they are asked for again. */
export const forgotten = makeCell(0);

/** A token that is refused at once must not be made again and again. */
const FORGET_MS = 5_000;
let forgottenAt = -Infinity;

/** Those of an ended session, or one that was revoked elsewhere, are not used again. */
export function forgetTokens(): void {
  held.clear();
  if (performance.now() - forgottenAt < FORGET_MS) return;
  forgottenAt = performance.now();
  forgotten.set(forgotten.get() + 1);
}

/** A token that has ended is no end of the session; but with the session the tokens that it made end, too. */
export function asToken<T>(work: Promise<T>): Promise<T> {
  return work.catch(async (error: unknown) => {
    if (!isFailure(error) || error.kind !== 'signed-out') throw error;
    forgetTokens();
    // Asks for the password in place, if the session has ended as well.
    await call('GET user/current').catch(() => {});
    const text = 'The token of this page had ended. Another one is being fetched: try again.';
    const refused: Failure = { ...error, kind: 'refused', text };
    throw refused;
  });
}
