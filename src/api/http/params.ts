/** Ids in paths: what is none is not there. */
import { isUuid } from '../../store/uuid.ts';
import type { Context } from './context.ts';
import { notFound } from '../errors.ts';

export const paramOf = (ctx: Context, name = 'id'): string => String((ctx['params'] as Record<string, string>)[name]);

export function idOf(ctx: Context): number {
  const text = paramOf(ctx);
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw notFound();
  return Number(text);
}

export function uuidOf(ctx: Context): string {
  const text = paramOf(ctx).toLowerCase();
  if (!isUuid(text)) throw notFound();
  return text;
}
