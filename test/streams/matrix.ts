/** Every kind of source, each from a real server, with its request and the secrets that must not appear. */
import { createHash, createHmac } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '../source/certificate.ts';
import { makeMedia } from './media.ts';
import { listenWithFfmpeg, missingPeer, startFtp, startMediaServer, startS3, type Peer } from './peers.ts';
import { startWeb } from './web_origin.ts';

export interface Row {
  source: string;
  server: string;
  /** Why it cannot be tried here. */
  missing?: string;
  /** The address, made when it is tried, because some servers accept only one caller. */
  address: () => Promise<{ url: string; end?: () => Promise<void> }>;
  /** The address as it may be shown. */
  shown: (url: string) => string;
  codec?: 'hevc';
}

const user = 'viewer-of-streams';
const password = 's3cret@p!ss;word';
const passphrase = 'correct horse battery';
const signature = '3f1d9c0b7a6e5d4c3b2a190807060504';
const accessKey = 'AKIAPEER000000000001';
const secret = 'wJal/rXUtn+FEMI/K7MD/bPx';
const region = 'eu-central-1';

/** What no log, error or output may contain, in all of its encodings. */
export const secrets: readonly string[] = [password, passphrase, signature, secret, accessKey, user].flatMap((text) => [
  text,
  encodeURIComponent(text),
  Buffer.from(text).toString('base64').replace(/=+$/, '').slice(0, -1),
]);

export interface Matrix {
  rows: Row[];
  allow: { cidr: string }[];
  ca: string;
  s3Hosts: string[];
  s3: { endpoint: string; region: string } | undefined;
  close(): Promise<void>;
}

const withoutQuery = (url: string): string => url.replace(/\/\/[^/]*@(?=[^@]*$)/, '//').replace(/=[^&]*/g, '=REDACTED');

export async function openMatrix(): Promise<Matrix> {
  const closing: (() => Promise<unknown> | void)[] = [];
  const [noFtp, noMedia, noS3] = await Promise.all((['ftp', 'mediamtx', 'versitygw'] as const).map(missingPeer));
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-matrix-'));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  makeMedia(folder);
  const certificate = await makeCertificate({ ip: ['127.0.0.1'] });
  const secrets_ = { user, password, signature };
  const web = await startWeb(folder, secrets_);
  const secure = await startWeb(folder, secrets_, certificate);
  closing.push(
    () => web.close(),
    () => secure.close(),
  );
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  const at =
    (origin: { url: string }, path: string, info = ''): Row['address'] =>
    () =>
      Promise.resolve({ url: `${origin.url.replace('://', `://${info}`)}${path}` });
  const rows: Row[] = [];
  const add = (source: string, server: string, address: Row['address'], more: Partial<Row> = {}): void =>
    void rows.push({ source, server, address, shown: withoutQuery, ...more });

  const node = 'Node';
  add('http', node, at(web, '/a.mp4'));
  add('https', node, at(secure, '/a.mp4'));
  add('http, user info', node, at(web, '/login/a.mp4', `${login}@`));
  add('https, presigned', node, at(secure, `/signed/a.mp4?X-Amz-Signature=${signature}&X-Amz-Expires=3600`));
  add('http, redirected to another server', node, at(web, '/moved/a.mp4'));
  add('HLS, multivariant', node, at(web, '/hls/master.m3u8'));
  add('HLS, media', node, at(web, '/hls/list.m3u8'));
  add('HLS, AES-128', node, at(web, '/aes/list.m3u8'));
  add('HLS, byte ranges', node, at(web, '/ranges/list.m3u8'));
  add('HLS, fragmented MP4', node, at(web, '/fmp4/list.m3u8'));
  add('HLS, addresses in full', node, at(web, '/absolute/hls/master.m3u8'));
  add('HLS, addresses from the root', node, at(web, '/root/hls/list.m3u8'));
  add('HLS, user info', node, at(web, '/login/hls/master.m3u8', `${login}@`));
  add('DASH, templates', node, at(web, '/dash/m.mpd'));
  add('DASH, BaseURL and ranges', node, at(web, '/based/m.mpd'));

  let s3: Peer | undefined;
  if (noS3 === undefined) {
    const buckets = join(folder, 'buckets');
    for (const bucket of ['closed-bucket', 'open-bucket']) mkdirSync(join(buckets, bucket), { recursive: true });
    copyFileSync(join(folder, 'a.mp4'), join(buckets, 'closed-bucket', 'a b+c.mp4'));
    copyFileSync(join(folder, 'a.mp4'), join(buckets, 'open-bucket', 'a.mp4'));
    s3 = await startS3(buckets, accessKey, secret, region);
    closing.push(s3.close);
    await openBucket(s3.port, 'open-bucket');
  }
  const port = s3?.port ?? 0;
  const ofS3 = noS3 === undefined ? {} : { missing: noS3 };
  const object =
    (url: string): Row['address'] =>
    () =>
      Promise.resolve({ url });
  add('s3://KEY:SECRET@BUCKET/PATH', 'versitygw', object(`s3://${accessKey}:${secret}@closed-bucket/a b+c.mp4`), {
    ...ofS3,
    shown: () => 's3://closed-bucket/a%20b%2Bc.mp4',
  });
  add('s3://, anonymous', 'versitygw', object('s3://open-bucket/a.mp4'), ofS3);
  add(
    'http://KEY:SECRET@HOST/BUCKET/PATH, a listed host',
    'versitygw',
    object(`http://${accessKey}:${secret}@127.0.0.1:${port}/closed-bucket/a%20b+c.mp4`),
    { ...ofS3, shown: () => `http://127.0.0.1:${port}/closed-bucket/a%20b%2Bc.mp4` },
  );

  const ofFtp = noFtp === undefined ? {} : { missing: noFtp };
  const ftp = noFtp === undefined ? await startFtp(folder, user, password) : undefined;
  if (ftp) closing.push(ftp.close);
  add('ftp, user info', 'pyftpdlib', object(`ftp://${login}@127.0.0.1:${ftp?.port}/a.mp4`), ofFtp);
  add('ftp, anonymous', 'pyftpdlib', object(`ftp://127.0.0.1:${ftp?.port}/fmp4/../a.mp4`), {
    ...ofFtp,
    shown: () => `ftp://127.0.0.1:${ftp?.port}/a.mp4`,
  });

  const listening =
    (kind: 'rtmp' | 'srt', file: string, path: string, query = ''): Row['address'] =>
    async () => {
      const peer = await listenWithFfmpeg(kind, join(folder, file), { query });
      return { url: `${kind}://127.0.0.1:${peer.port}${path}`, end: peer.close };
    };
  add('rtmp', 'ffmpeg', listening('rtmp', 'a.mp4', '/live/stream'));
  add('srt', 'ffmpeg', listening('srt', 'a.ts', ''));
  add(
    'srt, passphrase, AES-256, latency',
    'ffmpeg',
    listening(
      'srt',
      'a.ts',
      `?passphrase=${encodeURIComponent(passphrase)}&latency=200000`,
      `&passphrase=${passphrase}&pbkeylen=32`,
    ),
  );

  const ofMedia = noMedia === undefined ? {} : { missing: noMedia };
  const media = noMedia === undefined ? await startMediaServer(user, password, certificate) : undefined;
  if (media) {
    closing.push(media.close);
    await Promise.all([
      media.publish(join(folder, 'a.mp4'), 'live/cam'),
      media.publish(join(folder, 'hevc.mkv'), 'live/hevc'),
    ]);
  }
  const query = `user=${encodeURIComponent(user)}&pass=${encodeURIComponent(password)}`;
  add('rtmp, login in the query', 'MediaMTX', object(`rtmp://127.0.0.1:${media?.rtmp}/live/cam?${query}`), ofMedia);
  add('rtmps', 'MediaMTX', object(`rtmps://127.0.0.1:${media?.rtmps}/live/cam?${query}`), ofMedia);
  add('rtsp, digest', 'MediaMTX', object(`rtsp://${login}@127.0.0.1:${media?.rtsp}/live/cam`), ofMedia);
  add('rtsps, digest', 'MediaMTX', object(`rtsps://${login}@127.0.0.1:${media?.rtsps}/live/cam`), ofMedia);
  add(
    'rtsp, H.265 and G.711',
    'MediaMTX',
    object(`rtsp://${login}@127.0.0.1:${media?.rtsp}/live/hevc?q=${signature}`),
    { ...ofMedia, codec: 'hevc' },
  );
  add(
    'srt, stream id',
    'MediaMTX',
    object(`srt://127.0.0.1:${media?.srt}?streamid=${encodeURIComponent(`read:live/cam:${user}:${password}`)}`),
    ofMedia,
  );

  return {
    rows,
    allow: [{ cidr: '127.0.0.1/32' }],
    ca: certificate.cert,
    s3Hosts: [`127.0.0.1:${port}`],
    s3: s3 ? { endpoint: `http://127.0.0.1:${port}`, region } : undefined,
    async close() {
      for (const end of closing.toReversed()) await end();
    },
  };
}

/** Makes a bucket readable for everybody. */
async function openBucket(port: number, bucket: string): Promise<void> {
  const body = JSON.stringify({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Principal: '*', Action: ['s3:GetObject'], Resource: `arn:aws:s3:::${bucket}/*` }],
  });
  const time = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
  const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
  const host = `127.0.0.1:${port}`;
  const names = 'host;x-amz-content-sha256;x-amz-date';
  const canonical = [
    'PUT',
    `/${bucket}`,
    'policy=',
    `host:${host}`,
    `x-amz-content-sha256:${sha(body)}`,
    `x-amz-date:${time}`,
    '',
    names,
    sha(body),
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secret}`);
  const signed = hmac(key, ['AWS4-HMAC-SHA256', time, scope, sha(canonical)].join('\n')).toString('hex');
  const response = await fetch(`http://${host}/${bucket}?policy=`, {
    method: 'PUT',
    body,
    headers: {
      'x-amz-date': time,
      'x-amz-content-sha256': sha(body),
      authorization: `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${names}, Signature=${signed}`,
    },
  });
  if (!response.ok)
    throw new Error(`the bucket's policy was refused: ${response.status} ${(await response.text()).slice(0, 300)}`);
}
