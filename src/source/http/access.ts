/** The scope of a source's credentials. */
import { decodeLoosely, s3Host } from '../address/s3.ts';
import { isWeb, targetOf, type S3Settings, type Target } from '../address/target.ts';
import type { S3Object, Source } from '../source.ts';
import type { Access, Bucket } from './exchange.ts';

function bucketOf({ bucket, style }: S3Object, home: Target, { endpoint }: S3Settings): Bucket {
  const byHost =
    style === undefined ? endpoint === undefined && s3Host(home.host)?.bucket !== undefined : style === 'host';
  const root = style === undefined && endpoint !== undefined ? targetOf(endpoint).path.replace(/\/+$/, '') : '';
  return { name: bucket, path: byHost ? undefined : decodeLoosely(`${root}/${bucket}/`), file: home.path };
}

/** Azure takes tokens from this revision of its interface on. */
const bearerOf = ({ scheme }: Source, token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  ...(scheme === 'az' ? { 'x-ms-version': '2021-08-06' } : {}),
});

export function accessOf(source: Source, url: string, settings: S3Settings): Access | undefined {
  if (!isWeb(url)) return undefined;
  const home = targetOf(url);
  const region = source.s3?.region ?? settings.region ?? 'us-east-1';
  const own = source.headers && { own: { headers: Object.fromEntries(source.headers), to: home } };
  if (source.s3?.bearer !== undefined)
    return {
      home,
      bearer: bearerOf(source, source.s3.bearer),
      bucket: bucketOf(source.s3, home, settings),
      region,
      ...own,
    };
  if (source.s3?.accessKey !== undefined && source.s3.secret !== undefined)
    return {
      home,
      keys: { accessKey: source.s3.accessKey, secret: source.s3.secret, session: source.s3.session },
      bucket: bucketOf(source.s3, home, settings),
      region,
      ...own,
    };
  if (source.credentials === undefined) return own && { home, region, ...own };
  const { user, password } = source.credentials;
  return { home, basic: `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`, region, ...own };
}
