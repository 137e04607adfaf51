/** Credentials of the operator: who may use one, and that a real S3 server accepts what is signed with it. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Refusal } from '../../src/service/controller/leader/job.ts';
import {
  checkPictures,
  resolveCredentials,
  type CredentialSettings,
  readSealed,
} from '../../src/service/controller/leader/resolve_job.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { displaySource } from '../../src/source/address/redact.ts';
import { isSigned, accessOf } from '../../src/source/http/exchange.ts';
import { targetOf } from '../../src/source/address/target.ts';
import { originUrl } from '../../src/source/protocols/table.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { holdsCredentials, type Source } from '../../src/source/source.ts';
import { ask } from '../source/ask.ts';
import { pattern } from '../source/origin.ts';
import { missingPeer, startS3 } from '../streams/peers.ts';
import { noCredentials } from './no_credentials.ts';

const KEYS = { accessKey: 'archive-key', secretKey: 'a/secret+with=signs' };
const SAS = 'sv=2024-11-04&sr=c&sp=r&sig=AbCdEfGhIjKlMnOpQrStUv%3D';

const CLIMBING = [
  '../secret/a.mp4',
  './a.mp4',
  'dir/..',
  'dir/../../secret/a.mp4',
  '%2e%2e/secret/a.mp4',
  '%2E./secret/a.mp4',
  '.%2e/secret/a.mp4',
  '%252e%252E/secret/a.mp4',
  '%25252e./secret/a.mp4',
  'dir%2f..%2fa.mp4',
  'dir%252f%2e%2e%252fa.mp4',
  'dir%5c..%5ca.mp4',
  'dir%255Ca.mp4',
  '..;/secret/a.mp4',
  '..%3bx=y/secret/a.mp4',
  `%${'25'.repeat(9)}41.mp4`,
];

describe('named credentials', function () {
  this.timeout(60_000);
  let folder: string;
  let settings: CredentialSettings;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'credentials-'));
    const put = (name: string, keys: Record<string, string>): void => {
      mkdirSync(join(folder, name));
      for (const [key, value] of Object.entries(keys)) writeFileSync(join(folder, name, key), `${value}\n`);
    };
    put('archive', KEYS);
    put('google', KEYS);
    put('azure', { sas: `?${SAS}` });
    put('broken', { accessKey: 'one' });
    settings = {
      ...noCredentials,
      folder,
      credentials: [
        { name: 'archive', kind: 's3', accounts: [1], buckets: ['media'], region: 'eu-central-1' },
        { name: 'google', kind: 'gs', accounts: ['*'], buckets: ['films'], pictures: true },
        { name: 'azure', kind: 'az', accounts: [1, 2], buckets: ['account/films'] },
        { name: 'broken', kind: 's3', accounts: [1], buckets: ['media'] },
      ],
    };
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const resolved = async (address: string, credential: string, account = 1): Promise<Source> => {
    const sealed = readSealed(JSON.stringify({ address, credential }), []);
    return (await resolveCredentials(settings, [sealed], account))[0];
  };

  it('become keys for their bucket alone', async () => {
    const source = await resolved('s3://media/dir/a%20b.mp4', 'archive');
    assert.deepEqual(source.s3, {
      bucket: 'media',
      key: 'dir/a b.mp4',
      accessKey: KEYS.accessKey,
      secret: KEYS.secretKey,
      region: 'eu-central-1',
    });
    assert.ok(holdsCredentials(source));
    assert.ok(!('credential' in source));
    assert.ok(!displaySource(source).includes('secret'));
  });

  it('sign for Google Cloud Storage as for S3, in the bucket alone', async () => {
    const source = await resolved('gs://films/dir/a.mp4', 'google');
    const url = originUrl(source);
    assert.equal(url, 'https://storage.googleapis.com/films/dir/a.mp4');
    const access = accessOf(source, url, {})!;
    assert.equal(access.region, 'auto');
    assert.equal(isSigned(access, targetOf(url)), true);
    assert.equal(isSigned(access, targetOf('https://storage.googleapis.com/other/a.mp4')), false);
  });

  it('are a signature in the query for Azure', async () => {
    const source = await resolved('az://account/films/dir/a.mp4', 'azure');
    assert.equal(originUrl(source), `https://account.blob.core.windows.net/films/dir/a.mp4?${SAS}`);
    assert.ok(holdsCredentials(source));
    assert.equal(displaySource(source), 'az://account/…/a.mp4');
  });

  for (const [what, address, name, account] of [
    ['does not exist', 's3://media/a.mp4', 'none', 1],
    ['is not for this account', 's3://media/a.mp4', 'archive', 2],
    ['is not for this bucket', 's3://other/a.mp4', 'archive', 1],
    ['is not for this kind of address', 'gs://media/a.mp4', 'archive', 1],
    ['is not for this container', 'az://account/other/a.mp4', 'azure', 1],
    ['is not for this storage account', 'az://other/films/a.mp4', 'azure', 1],
    ['meets keys in the address', 's3://KEY:SECRET@media/a.mp4', 'archive', 1],
    ['has the name of a member of every object', 's3://media/a.mp4', 'constructor', 1],
    ['has a path for a name', 's3://media/a.mp4', '../archive', 1],
  ] as const)
    it(`are refused with the same 403 if one ${what}`, async () => {
      await assert.rejects(resolved(address, name, account), (error: unknown) => {
        assert.ok(error instanceof Refusal);
        assert.equal(error.status, 403);
        assert.equal(error.message, 'credential: is not available to this account for this source');
        return true;
      });
    });

  for (const path of CLIMBING)
    it(`are refused with an address that may leave the bucket: ${path}`, async () => {
      for (const [bucket, name] of [
        ['s3://media', 'archive'],
        ['gs://films', 'google'],
        ['az://account/films', 'azure'],
      ] as const)
        await assert.rejects(resolved(`${bucket}/${path}`, name), (error: unknown) => {
          assert.ok(error instanceof Refusal);
          assert.equal(error.status, 400);
          assert.match(error.message, /^credential: is not accepted with an address that has \. or \.\. segments/);
          return true;
        });
    });

  it('are accepted with dots and per cent signs that are part of a name', async () => {
    for (const path of ['a..b/...', '.hidden/..a', 'a/b..;c', '100%25/x', 'a%252fb', 'a;..', 'a//b'])
      for (const [bucket, name] of [
        ['s3://media', 'archive'],
        ['gs://films', 'google'],
        ['az://account/films', 'azure'],
      ] as const)
        assert.ok(holdsCredentials(await resolved(`${bucket}/${path}`, name)));
  });

  it('sign no climbing address that a redirect or a playlist names', async () => {
    const source = await resolved('gs://films/dir/a.m3u8', 'google');
    const access = accessOf(source, originUrl(source), {})!;
    for (const path of CLIMBING)
      assert.equal(isSigned(access, targetOf(`https://storage.googleapis.com/films/${path}`)), false, path);
    assert.equal(isSigned(access, targetOf('https://storage.googleapis.com/films/..a/b')), true);
  });

  it('are an error of the installation if the Secret lacks a key', async () => {
    await assert.rejects(
      resolved('s3://media/a.mp4', 'broken'),
      (error: unknown) => error instanceof Refusal && error.status === 500 && !error.message.includes('one'),
    );
  });

  for (const [what, sealed, options, refused] of [
    ['no pictures', 'https://u:p@one.test/a.mp4?sig=1', {}],
    ['an address alone', 'https://one.test/a.mp4', { pictures: 'true' }],
    ['user info', 'https://u:p@one.test/a.mp4', { pictures: 'true' }, 400],
    ['a query', 'https://one.test/a.mp4?sig=1', { pictures: 'true' }, 400],
    ['headers', { address: 'https://one.test/a.mp4', headers: [['cookie', 'a=b']] }, { pictures: 'true' }, 400],
    ['keys', 's3://KEY:SECRET@media/a.mp4', { pictures: 'true' }, 400],
    [
      'keys of the caller, who allows it',
      's3://KEY:SECRET@media/a.mp4',
      { pictures: 'true', private_pictures: 'true' },
    ],
    ['a credential that allows it', { address: 'gs://films/a.mp4', credential: 'google' }, { pictures: 'true' }],
    [
      'a credential that does not, whatever the caller allows',
      { address: 's3://media/a.mp4', credential: 'archive' },
      { pictures: 'true', private_pictures: 'true' },
      403,
    ],
  ] as const)
    it(`pictures: ${what} ${refused === undefined ? 'is accepted' : `is refused with ${refused}`}`, () => {
      const source = readSealed(typeof sealed === 'string' ? sealed : JSON.stringify(sealed), []);
      const check = () => checkPictures([{ name: 'qc', version: '7.1', options }], source, settings);
      if (refused === undefined) check();
      else
        assert.throws(
          check,
          (error) =>
            error instanceof Refusal &&
            error.status === refused &&
            error.message.startsWith('qc.pictures: ') &&
            !/SECRET|sig|u:p|a=b/.test(error.message),
        );
    });

  it('are not looked for where none is named', async () => {
    const [source] = await resolveCredentials(settings, [readSealed('https://one.test/a.mp4', [])], 7);
    assert.deepEqual(source, parseSource('https://one.test/a.mp4'));
  });

  it('open an object of a real S3 server, and none of another bucket', async function () {
    const missing = await missingPeer('versitygw');
    if (missing !== undefined) {
      console.log(`      skipped: ${missing}`);
      return this.skip();
    }
    const content = pattern(200_000);
    for (const bucket of ['media', 'other']) {
      mkdirSync(join(folder, 's3', bucket), { recursive: true });
      writeFileSync(join(folder, 's3', bucket, 'a.mp4'), content);
    }
    const server = await startS3(join(folder, 's3'), KEYS.accessKey, KEYS.secretKey, 'eu-central-1');
    const endpoint = `http://127.0.0.1:${server.port}`;
    const proxy = await startProxy({ allow: [{ cidr: '127.0.0.1/32' }], s3: { endpoint } });
    try {
      const job = proxy.open({ source: await resolved('s3://media/a.mp4', 'archive'), limits: { maxBytes: 1e9 } });
      assert.ok((await ask(job.address('a'))).body.equals(content));
      assert.equal(job.redact(`${KEYS.accessKey} ${KEYS.secretKey}`).includes('secret'), false);
      const other = await ask(job.address('a').replace('a.mp4', `x/http/127.0.0.1:${server.port}/other/a.mp4`));
      assert.equal(other.status, 403);
      job.close();
    } finally {
      await proxy.close();
      await server.close();
    }
  });
});

describe('az://', () => {
  for (const [address, url] of [
    ['az://account/films/a.mp4', 'https://account.blob.core.windows.net/films/a.mp4'],
    ['az://account/films/dir/a b?.m3u8', 'https://account.blob.core.windows.net/films/dir/a%20b?.m3u8'],
    ['az://account/$root/a.mp4', 'https://account.blob.core.windows.net/%24root/a.mp4'],
  ] as const)
    it(`${address} is ${url}`, () => assert.equal(originUrl(parseSource(address)), url));

  for (const address of [
    'az://account/films',
    'az://account/films/',
    'az://Account_1/films/a',
    'az://account.evil.test/films/a',
    'az://account/a/b.mp4',
    'az://account@evil.test/films/a.mp4',
    'az://ab/films/a.mp4',
    'az:///films/a.mp4',
  ])
    it(`${address} is refused`, () => assert.throws(() => parseSource(address)));
});
