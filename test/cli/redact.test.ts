import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { redacted, tarOf, withoutSecrets } from '../../src/cli/kubectl/support_bundle.ts';

const TOKEN = 'Zz9'.repeat(22).slice(0, 64);
const HEX_TOKEN = 'a0'.repeat(32);
const DIGEST = `sha256:${'ab'.repeat(32)}`;
const JWE = 'eyJhbGciOiJFQ0RILUVTIn0..c2FsdA.Y2lwaGVy.dGFn';

describe('what a support bundle leaves out', () => {
  const secrets: [string, string][] = [
    [`Authorization: Bearer ${TOKEN}`, TOKEN],
    [`"authorization":"Basic dXNlcjpodW50ZXIyMg=="`, 'dXNlcjpodW50ZXIyMg'],
    [`token ${HEX_TOKEN} is not valid`, HEX_TOKEN],
    [`{"password":"hunter22"}`, 'hunter22'],
    [`{"webhook-secret": "hun\\"ter22"}`, 'ter22'],
    [`PGPASSWORD=hunter22 psql`, 'hunter22'],
    [`postgres://app:hunter22@db:5432/app`, 'hunter22'],
    [`"postgres:\\/\\/app:hunter22@db\\/app"`, 'hunter22'],
    [`s3://AKIDEXAMPLE:hunter22/slash@bucket/film.mp4`, 'hunter22'],
    [`https://media.example.com/a.mp4?X-Amz-Signature=hunter22&x=hunter23`, 'hunter2'],
    [`"https://media.example.com/a.mp4?a=1\\u0026sig=hunter22"`, 'hunter22'],
    [`GET /v1/probe/file?token=${TOKEN}&url=https%3A%2F%2Fu%3Ahunter22%40h`, 'hunter22'],
    [`key AKIAIOSFODNN7EXAMPLE`, 'AKIAIOSFODNN7EXAMPLE'],
    [`sealed ${JWE} end`, 'Y2lwaGVy'],
    [`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOjF9.c2lnbmF0dXJl`, 'c2lnbmF0dXJl'],
    [`whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`, 'MfKQ9r8G'],
    [`SUAM${'A2'.repeat(27)}`, 'SUAM'],
    [`-----BEGIN EC PRIVATE KEY-----\nhunter22\n-----END EC PRIVATE KEY-----`, 'hunter22'],
    [`-----BEGIN PRIVATE KEY-----\nhunter22`, 'hunter22'],
  ];
  for (const [text, secret] of secrets)
    it(text.replaceAll('\n', ' ').slice(0, 70), () => {
      const shown = redacted(text);
      assert.ok(!shown.includes(secret), shown);
    });

  it('what says what runs stays', () => {
    for (const text of [
      `registry.example.com/probeyard@${DIGEST}`,
      'runner short-abc12 is ready after 812 ms',
      '{"reason":"NoRunner","status":"False"}',
      'https://media.example.com/film.mp4',
      '019a5f3e-8a00-7000-8000-000000000001',
    ])
      assert.equal(redacted(text), text);
  });

  it('values of variables, data of objects and applied manifests are left out of resources', () => {
    const shown = JSON.stringify(
      withoutSecrets({
        metadata: {
          name: 'x',
          annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'hunter22' },
          managedFields: ['hunter22'],
        },
        data: { a: 'hunter22' },
        spec: {
          source: { sealed: 'hunter22' },
          env: [{ name: 'PY_X', value: 'hunter22' }],
          request: { webhook_url: 'https://hooks.test/hunter22', items_url: 'https://lists.test/hunter22.csv' },
          replicas: 2,
        },
      }),
    );
    assert.ok(!shown.includes('hunter22') && shown.includes('PY_X') && shown.includes('"replicas":2'), shown);
  });

  it('takes bounded time on a hostile text', () => {
    for (const part of ['eyJ.', 'a?b=', '-----BEGIN ', '"token', 'password', '://', 'Bearer ', 'A'.repeat(63)]) {
      const began = performance.now();
      redacted(part.repeat(Math.ceil(200_000 / part.length)));
      assert.ok(performance.now() - began < 5_000, part);
    }
  });
});

describe('the archive', () => {
  it('is read by tar, with long names and the content as it was', () => {
    const folder = mkdtempSync(join(tmpdir(), 'probeyard-tar-'));
    const long = `logs/probeyard/${'p'.repeat(90)}.log`;
    const files = [
      { name: 'a.txt', content: Buffer.from('a\n') },
      { name: 'empty', content: Buffer.alloc(0) },
      { name: long, content: randomBytes(5_000) },
    ];
    writeFileSync(join(folder, 'x.tar'), tarOf(files, new Date()));
    const { status, stderr } = spawnSync('tar', ['-xf', 'x.tar'], { cwd: folder, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    for (const { name, content } of files) assert.deepEqual(readFileSync(join(folder, name)), content);
    rmSync(folder, { recursive: true });
  });
});
