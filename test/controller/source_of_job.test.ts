/** Where the source of a job comes from: sealed keys in a file that rotates, and Secrets of a real API server. */
import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, type JSONWebKeySet, type JWK } from 'jose';
import { takeIn, type IntakeState } from '../../src/service/controller/leader/resolve_job.ts';
import { policyDocuments } from '../../src/service/controller/leader/policies.ts';
import { ServedNamespaces } from '../../src/platform/kube/served_namespaces.ts';
import { Refusal, type Job } from '../../src/service/controller/leader/job.ts';
import { SECRETS } from '../../src/platform/kube/client.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { sealSource } from '../../src/platform/seal/seal.ts';
import { watchOpeningKeys } from '../../src/platform/seal/watch_keys.ts';
import type { Source } from '../../src/source/source.ts';
import { testApiServer, type TestApiServer } from '../kube/apiserver.ts';
import { type StoreFixture, startStore } from '../store/fixture.ts';
import { noCredentials } from './no_credentials.ts';

const SOURCE = 'https://example.org/a.mp4';
describe('source of a job', function () {
  this.timeout(90_000);
  let server: TestApiServer;
  let fixture: StoreFixture;
  let namespace: string;
  let folder: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-seal-'));
    [server, fixture] = await Promise.all([testApiServer({ own: true }), startStore()]);
    namespace = await server.namespace('source');
  });
  after(async () => {
    await fixture?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const intake = (keys: () => JSONWebKeySet): IntakeState => ({
    documents: policyDocuments(fixture.store),
    tokens: {
      of: async () => (await fixture.store.defaultToken()) ?? undefined,
      byHand: () => fixture.store.defaultToken(),
    },
    served: new ServedNamespaces({ namespace, tenantNamespaces: [] }),
    takeByHand: () => true,
    deps: {
      store: fixture.store,
      kube: server.client,
      intake: { keys, s3Hosts: [], named: noCredentials },
      pools: {
        availableTools: () => [{ tool: 'ffprobe', version: '9.0', latest: true, command: ['{root}/bin/ffprobe'] }],
        forJob: () => undefined,
      },
    },
  });
  /** The address that the runner gets, or why the job is refused. */
  const outcome = async (...given: Parameters<typeof sourceOf>): Promise<string> => {
    const source = await sourceOf(...given);
    return typeof source === 'string' ? source : source.url;
  };
  const sourceOf = async (...given: Parameters<typeof jobOf>): Promise<Source | string> => {
    const job = await jobOf(...given);
    return typeof job === 'string' ? job : job.assignment.source;
  };
  const jobOf = (
    spec: object,
    keys: () => JSONWebKeySet = () => ({ keys: [] }),
    name: string = crypto.randomUUID(),
  ): Promise<Job | string> =>
    takeIn(intake(keys), {
      apiVersion: 'probeyard.dev/v1alpha1',
      kind: 'ProbeJob',
      metadata: { name, namespace, uid: crypto.randomUUID(), creationTimestamp: new Date().toISOString() },
      spec: { kind: 'file', tools: [{ name: 'ffprobe', version: 'latest' }], ...spec },
    } as unknown as ProbeJob).then(
      ({ job }) => job,
      (error: unknown) => (error instanceof Refusal ? error.message : assert.fail(String(error))),
    );

  describe('in a Secret', () => {
    const named = (name: string, key = 'url') => outcome({ source: { secretRef: { name, key } } });
    before(async () => {
      const value = Buffer.from(SOURCE).toString('base64');
      for (const [name, labels] of [
        ['labelled', { 'probeyard.dev/source': 'true' }],
        ['bare', {}],
        ['denied', { 'probeyard.dev/source': 'false' }],
      ] as const) {
        await server.client.create(SECRETS, { metadata: { name, namespace, labels }, data: { url: value } });
      }
    });

    it('is read if the Secret is labelled as a source', async () => assert.equal(await named('labelled'), SOURCE));

    for (const name of ['bare', 'denied', 'missing']) {
      it(`is not read from a Secret that is ${name}, with the same answer as for a missing one`, async () => {
        assert.equal(
          await named(name),
          `spec.source.secretRef: no Secret ${name} with the label probeyard.dev/source=true`,
        );
      });
    }

    it('is not pictured if it has credentials, also in a job made by hand', async () => {
      const url = Buffer.from('https://u:p@example.org/a.mp4').toString('base64');
      const labels = { 'probeyard.dev/source': 'true' };
      await server.client.create(SECRETS, { metadata: { name: 'private', namespace, labels }, data: { url } });
      const tools = [{ name: 'qc', version: 'latest', options: { pictures: 'true' } }];
      const source = { secretRef: { name: 'private', key: 'url' } };
      assert.match(await outcome({ source, tools }), /^qc\.pictures: the source has credentials/);
      assert.equal(await outcome({ source }), SOURCE);
    });

    it('is refused if the labelled Secret has no such key', async () =>
      assert.equal(await named('labelled', 'other'), 'spec.source.secretRef: the Secret labelled has no key other'));
  });

  describe('sealed', () => {
    const UNKNOWN = 'cannot decrypt the sealed source: it belongs to another job, or its key is no longer configured';
    const pair = async (kid: string): Promise<{ open: JWK; secret: JWK }> => {
      const { publicKey, privateKey } = await generateKeyPair('ECDH-ES', { crv: 'P-256', extractable: true });
      return { open: { ...(await exportJWK(publicKey)), kid }, secret: { ...(await exportJWK(privateKey)), kid } };
    };
    const sealedWith = async (key: JWK, keys: () => JSONWebKeySet): Promise<string> => {
      const requestId = crypto.randomUUID();
      const sealed = sealSource(SOURCE, { requestId, tokenId: 1 }, { keys: [key] });
      return await outcome({ source: { sealed, display: SOURCE }, token: { id: 1, user: 1 } }, keys, requestId);
    };
    const jobOfSealed = async (
      text: string,
      other?: string,
      { otherId, ...more }: { kind?: string; otherId?: string } = {},
    ): Promise<Job | string> => {
      const { open, secret } = await pair('one');
      const requestId = crypto.randomUUID();
      const seal = (one: string, id: string = requestId) =>
        sealSource(one, { requestId: id, tokenId: 1 }, { keys: [open] });
      const spec = {
        source: { sealed: await seal(text), display: SOURCE },
        ...(other === undefined ? {} : { other: { sealed: await seal(other, otherId) } }),
        token: { id: 1, user: 1 },
        ...more,
      };
      return jobOf(spec, () => ({ keys: [secret] }), requestId);
    };
    const opened = async (text: string): Promise<Source | string> => {
      const job = await jobOfSealed(text);
      return typeof job === 'string' ? job : job.assignment.source;
    };

    it('an address is parsed by the controller', async () =>
      assert.deepEqual(await opened('https://u:p@example.org/a.mp4'), {
        scheme: 'https',
        url: SOURCE,
        credentials: { user: 'u', password: 'p' },
        class: 'file',
      }));

    it('two are the sources of a comparison, on a runner of its own if one holds credentials', async () => {
      const two = (a: string, b: string) => jobOfSealed(a, b, { kind: 'compare' });
      for (const [job, tenant] of [
        [await two(SOURCE, 'https://u:p@two.example.org/b.mp4'), /^x:/],
        [await two(SOURCE, 'https://two.example.org/b.mp4?key=1'), /^x:/],
        [
          await two(JSON.stringify({ address: SOURCE, headers: [['x-a', 'b']] }), 'https://two.example.org/b.mp4'),
          /^x:/,
        ],
        [await two(SOURCE, 'https://two.example.org/b.mp4'), /^a:/],
      ] as const) {
        assert.ok(typeof job === 'object', String(job));
        const { source, other } = job.assignment;
        assert.equal(source.url, SOURCE);
        assert.match(other?.url ?? '', /^https:\/\/two\.example\.org\/b\.mp4/);
        assert.match(job.tenant, tenant);
      }
    });

    for (const [what, other, kind, message] of [
      ['a second source that is no address', 'film', 'compare', /^url must begin with one of/],
      ['two sources in a job of another kind', SOURCE, 'file', /^spec\.other: only the kind compare has two sources$/],
      [
        'one source for two',
        undefined,
        'compare',
        /^spec\.tools: a comparison needs at least two versions of one tool$/,
      ],
    ] as const)
      it(`refuses ${what}`, async () => {
        const said = await jobOfSealed(SOURCE, other, { kind });
        assert.match(typeof said === 'string' ? said : 'it was taken in', message);
      });

    it('refuses a second source that was sealed for another job', async () =>
      assert.equal(await jobOfSealed(SOURCE, SOURCE, { kind: 'compare', otherId: crypto.randomUUID() }), UNKNOWN));

    const address = SOURCE;
    for (const [what, text] of [
      ['text that is not JSON', '{'],
      ['no address', JSON.stringify({ headers: [['x-a', 'b']] })],
      ['an address that is no text', JSON.stringify({ address: [SOURCE] })],
      ['an upload without a place', JSON.stringify({ name: 'film.mp4', upload: { host: '10.0.0.1', port: 1 } })],
      // The sealing key is public, so anyone could have sealed them.
      ['no headers', JSON.stringify({ address, headers: [] })],
      ['a header that is refused', JSON.stringify({ address, headers: [['host', 'b']] })],
      ['a line break in a header', JSON.stringify({ address, headers: [['x-a', 'a\r\nb']] })],
      ['a header without a value', JSON.stringify({ address, headers: [['x-a']] })],
      ['headers that are no list', JSON.stringify({ address, headers: { a: 'b' } })],
      ['headers for ftp', JSON.stringify({ address: 'ftp://one.test/a.mp4', headers: [['x-a', 'b']] })],
    ] as const) {
      it(`with ${what} is refused`, async () => assert.equal(await opened(text), 'the sealed source is not valid'));
    }

    let written = 0;
    /** Writes as the kubelet does: a new file, and a symlink that is swapped. */
    const write = (file: string, content: string): void => {
      const place = join(folder, `content-${++written}`);
      writeFileSync(place, content);
      // Two writes within one tick of the file system's clock would look like one.
      utimesSync(place, written, written);
      symlinkSync(place, `${file}.new`);
      renameSync(`${file}.new`, file);
    };

    it('opens with a private key added while the controller runs, and not with a removed one', async () => {
      const [old, fresh] = [await pair('old'), await pair('fresh')];
      const file = join(folder, 'private.jwks');
      write(file, JSON.stringify({ keys: [old.secret] }));
      const keys = watchOpeningKeys(file, (error) => assert.fail(String(error)), 0);
      assert.deepEqual([await sealedWith(old.open, keys), await sealedWith(fresh.open, keys)], [SOURCE, UNKNOWN]);
      write(file, JSON.stringify({ keys: [old.secret, fresh.secret] }));
      assert.deepEqual([await sealedWith(old.open, keys), await sealedWith(fresh.open, keys)], [SOURCE, SOURCE]);
      write(file, JSON.stringify({ keys: [fresh.secret] }));
      assert.deepEqual([await sealedWith(old.open, keys), await sealedWith(fresh.open, keys)], [UNKNOWN, SOURCE]);
    });

    it('opens with the last good keys while the key file is invalid, and each check logs why', async () => {
      const [old, fresh] = [await pair('old'), await pair('fresh')];
      const file = join(folder, 'broken.jwks');
      write(file, JSON.stringify({ keys: [old.secret] }));
      const errors: unknown[] = [];
      const keys = watchOpeningKeys(file, (error) => errors.push(error), 0);
      for (const bad of ['{', '{"keys":[]}', JSON.stringify({ keys: [fresh.open] })]) {
        errors.length = 0;
        write(file, bad);
        assert.equal(await sealedWith(old.open, keys), SOURCE);
        assert.equal(errors.length, 1, bad);
      }
      write(file, JSON.stringify({ keys: [fresh.secret] }));
      assert.equal(await sealedWith(fresh.open, keys), SOURCE);
    });
  });
});
