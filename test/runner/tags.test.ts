/** A real agent tags objects of a real S3 server with the verdict on what it read. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSealed, resolveCredentials } from '../../src/service/controller/leader/resolve_job.ts';
import { verdictWord } from '../../src/service/runner/tags.ts';
import { targetOf } from '../../src/source/address/target.ts';
import { tagsIn } from '../../src/source/http/object_tags.ts';
import { signS3, type S3Keys } from '../../src/source/http/sign.ts';
import { noCredentials } from '../controller/no_credentials.ts';
import { addS3User, missingPeer, type Peer, startS3 } from '../streams/peers.ts';
import { Rig } from './agent_rig.ts';

const ADMIN: S3Keys = { accessKey: 'archive-key', secret: 'a/secret+with=signs' };
const READER: S3Keys = { accessKey: 'reader', secret: 'may-read-alone' };
const REQUEST = '019a5f3e-8a00-7000-8000-000000000001';
const READ = '/usr/bin/curl -s -o /dev/null "$address"';
const TAGGING = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';

describe('tags of objects in an agent', function () {
  this.timeout(90_000);
  const rig = new Rig();
  const folder = mkdtempSync(join(tmpdir(), 'tags-'));
  let server: Peer | undefined;
  let endpoint: string;

  /** Signed by the administrator. */
  async function s3(method: string, path: string, body = ''): Promise<string> {
    const url = `${endpoint}/${path}`;
    const bodySha256 = createHash('sha256').update(body).digest('hex');
    const headers = {
      ...signS3(targetOf(url), ADMIN, 'us-east-1', new Date(), { method, bodySha256 }),
      'content-md5': createHash('md5').update(body).digest('base64'),
    };
    const response = await fetch(url, { method, headers, ...(body === '' ? {} : { body }) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text;
  }
  const tagsOf = async (name: string, query = ''): Promise<Record<string, string>> =>
    Object.fromEntries(
      [...tagsIn(await s3('GET', `films/${name}?tagging${query}`))].map(([key, xml]) => [
        key,
        /<Value>(.*)<\/Value>/s.exec(xml)?.[1] ?? '',
      ]),
    );
  const giveTags = (name: string, tags: readonly (readonly [string, string])[]) => {
    const set = tags.map(([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`).join('');
    return s3('PUT', `films/${name}?tagging`, `<Tagging ${TAGGING}><TagSet>${set}</TagSet></Tagging>`);
  };

  before(async function () {
    if ((await missingPeer('versitygw')) !== undefined) return this.skip();
    for (const name of ['s3', 'users', 'versions']) mkdirSync(join(folder, name));
    for (const [name, { accessKey, secret }] of Object.entries({ films: ADMIN, reader: READER, denied: ADMIN })) {
      mkdirSync(join(folder, 'keys', name), { recursive: true });
      writeFileSync(join(folder, 'keys', name, 'accessKey'), accessKey);
      writeFileSync(join(folder, 'keys', name, 'secretKey'), secret);
    }
    const more = { users: join(folder, 'users'), versions: join(folder, 'versions') };
    server = await startS3(join(folder, 's3'), ADMIN.accessKey, ADMIN.secret, 'us-east-1', more);
    endpoint = `http://127.0.0.1:${server.port}`;
    await addS3User(server.port, ADMIN, READER);
    await s3('PUT', 'films');
    const Action = ['s3:GetObject', 's3:GetObjectTagging'];
    const policy = { Effect: 'Allow', Principal: [READER.accessKey], Action, Resource: 'arn:aws:s3:::films/*' };
    await s3('PUT', 'films?policy', JSON.stringify({ Version: '2012-10-17', Statement: [policy] }));
    rig.proxyOptions = { ...rig.proxyOptions, s3: { endpoint } };
    await rig.start();
    await rig.newAgent();
  });
  after(async () => {
    await rig.stop();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** As the API seals it, and the leader opens it. */
  const sourceOf = async (address: string, credential: string | null) => {
    const sealed = readSealed(
      JSON.stringify({ address, ...(credential === null ? {} : { credential }), tag: { request: REQUEST } }),
      [],
    );
    const all = { kind: 's3' as const, accounts: ['*' as const], buckets: ['films', 'versioned'] };
    const named = {
      ...noCredentials,
      folder: join(folder, 'keys'),
      credentials: [
        { ...all, name: 'films', tags: true },
        { ...all, name: 'reader', tags: true },
        { ...all, name: 'denied' },
      ],
    };
    return (await resolveCredentials(named, [sealed], 1))[0];
  };
  const run = async (
    address: string,
    { credential = 'films' as string | null, script = `${READ}; echo '{}'` } = {},
  ) => {
    const order = rig.go([rig.script(script)], { source: await sourceOf(address, credential) });
    await rig.prepare(order);
    const { body } = await rig.run(order);
    assert.doesNotMatch(JSON.stringify(body), /secret\+with|may-read-alone/);
    return body;
  };

  it('are written beside others, which stay as they are', async () => {
    await s3('PUT', 'films/a%20b.mp4', 'one');
    await giveTags('a%20b.mp4', [
      ['owner', 'Ä + b='],
      ['probeyard-verdict', 'fail'],
    ]);
    const body = await run('s3://films/a%20b.mp4');
    assert.deepEqual([body.tagged, body.tools[0]!.success], [{ written: true }, true]);
    const { 'probeyard-checked-at': at, ...tags } = await tagsOf('a%20b.mp4');
    assert.ok(Math.abs(Date.parse(at!) - Date.now()) < 60_000);
    assert.deepEqual(tags, { owner: 'Ä + b=', 'probeyard-verdict': 'pass', 'probeyard-request': REQUEST });
    assert.equal(body.origin!.ffprobe!.requests, 4);
  });

  it('say error where no tool succeeded, and a second run replaces them', async () => {
    await s3('PUT', 'films/bad.mp4', 'two');
    await run('s3://films/bad.mp4');
    const { tagged, tools } = await run('s3://films/bad.mp4', { script: `${READ}; exit 1` });
    assert.deepEqual([tagged, tools[0]!.success], [{ written: true }, false]);
    const tags = await tagsOf('bad.mp4');
    assert.deepEqual([Object.keys(tags).length, tags['probeyard-verdict']], [3, 'error']);
  });

  it('are written with keys of the address', async () => {
    await s3('PUT', 'films/keys.mp4', 'x');
    const keys = `${ADMIN.accessKey}:${encodeURIComponent(ADMIN.secret)}`;
    assert.deepEqual((await run(`s3://${keys}@films/keys.mp4`, { credential: null })).tagged, { written: true });
  });

  for (const [what, credential, name, code, message] of [
    ['a key that may read alone', 'reader', 'read.mp4', 'http-403', /answered with status 403|403/],
    ['a credential without `tags`', 'denied', 'read.mp4', 'not-allowed', /the operator allows no tags/],
  ] as const)
    it(`are not written with ${what}, and the item has its result`, async () => {
      await s3('PUT', `films/${name}`, 'x');
      const { tagged, tools } = await run(`s3://films/${name}`, { credential });
      assert.deepEqual([tagged!.written, tagged!.code, tools[0]!.success], [false, code, true]);
      assert.match(tagged!.message!, message);
      assert.deepEqual(await tagsOf(name), {});
    });

  it('are not written to an object that is not there', async () => {
    const { tagged } = await run('s3://films/none.mp4');
    assert.deepEqual([tagged!.written, tagged!.code], [false, 'unknown']);
  });

  it('are not written to an object that was replaced meanwhile', async () => {
    await s3('PUT', 'films/new.mp4', 'old');
    const [hasRead, isReplaced] = ['has-read', 'is-replaced'].map((name) => join(folder, name));
    execFileSync('mkfifo', [hasRead!, isReplaced!]);
    const script = `${READ}; echo > ${hasRead}; read -r _ < ${isReplaced}; echo '{}'`;
    const replace = async () => {
      await readFile(hasRead!);
      await s3('PUT', 'films/new.mp4', 'new');
      await writeFile(isReplaced!, '\n');
    };
    const [{ tagged }] = await Promise.all([run('s3://films/new.mp4', { script }), replace()]);
    assert.deepEqual([tagged!.written, tagged!.code], [false, 'changed']);
    assert.deepEqual(await tagsOf('new.mp4'), {});
  });

  for (const [count, code] of [
    [7, undefined],
    [8, 'no-room'],
  ] as const)
    it(`beside ${count} others: ${code ?? 'written'}`, async () => {
      await s3('PUT', 'films/full.mp4', 'x');
      await giveTags(
        'full.mp4',
        Array.from({ length: count }, (_, at) => [`tag-${at}`, String(at)] as const),
      );
      const { tagged } = await run('s3://films/full.mp4');
      assert.equal(tagged!.code, code);
      assert.equal(Object.keys(await tagsOf('full.mp4')).length, code === undefined ? count + 3 : count);
    });

  it('are those of the version that was read', async () => {
    await s3('PUT', 'versioned');
    const enabled = `<VersioningConfiguration ${TAGGING}><Status>Enabled</Status></VersioningConfiguration>`;
    await s3('PUT', 'versioned?versioning', enabled);
    await s3('PUT', 'versioned/a.mp4', 'x');
    assert.deepEqual((await run('s3://versioned/a.mp4')).tagged, { written: true });
    assert.match(await s3('GET', 'versioned/a.mp4?tagging'), /<Value>pass<\/Value>/);
  });

  it('are neither asked for nor written where the store sends elsewhere, or answers with something else', async () => {
    const asked: string[] = [];
    let answers = 0;
    const host = createServer((request, response) => {
      const { port } = host.address() as AddressInfo;
      asked.push(
        `${request.method} ${request.headers.host} ${request.url} ${request.headers.authorization ? 'signed' : ''}`,
      );
      if (request.url!.includes('tagging')) return void response.end('<html>no tags</html>');
      // The second time, under another name.
      answers += 1;
      if (request.url === '/films/away.mp4' && answers > 1)
        return void response.writeHead(307, { location: `http://localhost:${port}/films/there.mp4` }).end();
      response
        .writeHead(206, {
          etag: '"one"',
          'x-amz-version-id': '3/L4',
          'content-range': 'bytes 0-0/1',
          'content-length': 1,
        })
        .end('x');
    });
    host.listen(0);
    await once(host, 'listening');
    const other = new Rig();
    other.proxyOptions = {
      ...other.proxyOptions,
      s3: { endpoint: `http://127.0.0.1:${(host.address() as AddressInfo).port}` },
    };
    await other.start();
    await other.newAgent();
    try {
      for (const [name, code] of [
        ['away', 'source-forbidden'],
        ['here', 'protocol'],
      ] as const) {
        answers = 0;
        const order = other.go([other.script(`${READ}; echo '{}'`)], {
          source: await sourceOf(`s3://films/${name}.mp4`, 'films'),
        });
        await other.prepare(order);
        const { tagged, tools } = (await other.run(order)).body;
        assert.deepEqual([tagged!.written, tagged!.code, tools[0]!.success], [false, code, true]);
      }
      assert.deepEqual(
        asked.filter((one) => one.includes('tagging')).map((one) => one.replace(/:\d+/, '')),
        ['GET 127.0.0.1 /films/here.mp4?tagging&versionId=3%2FL4 signed'],
      );
    } finally {
      await other.stop();
      host.closeAllConnections();
      host.close();
    }
  });
});

describe('verdicts as tags', () => {
  const [good, bad] = [{ success: true }, { success: false }];
  const policy = (outcome: 'fail' | 'warn' | 'unknown') => ({ policy: { outcome } as never });
  for (const [what, ran, word] of [
    ['all tools succeeded', { tools: [good, good] }, 'pass'],
    ['one failed', { tools: [good, bad] }, 'warn'],
    ['none succeeded', { tools: [bad] }, 'error'],
    ['nothing ran', { tools: [] }, 'error'],
    ['a policy warns', { tools: [good], ...policy('warn') }, 'warn'],
    ['a policy fails', { tools: [good, bad], ...policy('fail') }, 'fail'],
    ['none succeeded, whatever a policy says', { tools: [bad], ...policy('unknown') }, 'error'],
  ] as const)
    it(`${what}: ${word}`, () => assert.equal(verdictWord(ran), word));
});

describe('tags in the answer of a host', () => {
  const tag = (key: string, value: string): string => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`;
  for (const [what, xml, expected] of [
    ['none', '<Tagging><TagSet/></Tagging>', []],
    ['none, written out', '<Tagging><TagSet></TagSet></Tagging>', []],
    [
      'kept as they stand',
      `<Tagging><TagSet>${tag('a&amp;b', ' x ')}</TagSet></Tagging>`,
      [['a&b', tag('a&amp;b', ' x ')]],
    ],
    ['without a key', '<TagSet><Tag><Value>x</Value></Tag></TagSet>', []],
    ['ended again', '<TagSet/><Tag><Key>a</Key></Key></Tag></Key></Tag>', [['a', '<Tag><Key>a</Key></Key></Tag>']]],
  ] as const)
    it(what, () => assert.deepEqual([...tagsIn(xml)], expected));
  for (const xml of ['', '<html>', '<Error><Key>a</Key></Error>', '<Tagging><TagSet>'])
    it(`are not in ${JSON.stringify(xml)}`, () => assert.throws(() => tagsIn(xml), /does not answer with the tags/));
});
