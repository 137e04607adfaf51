/** The playground: a request is composed, sent, followed, cancelled and read, on the real API. */
import assert from 'node:assert/strict';
import { PROBE_JOBS, PROBE_TOOLS } from '../../src/platform/kube/client.ts';
import type { AvailableTool } from '../../src/api_types.ts';
import { curlOf, yamlOf } from '../../src/console/playground/copies.ts';
import {
  bodyOf,
  hasSecrets,
  isRedacted,
  NO_SECRETS,
  queryOf,
  secretsOf,
  withoutDefaults,
  withoutSecrets,
} from '../../src/console/playground/form.ts';
import { tool as ran } from '../api/fixture.ts';
import { ADMIN } from '../store/fixture.ts';
import { until } from '../until.ts';
import { probingConsoleTest, visitAs, type Look, type Visit } from './fixture.ts';

const option = (
  name: string,
  type: 'boolean' | 'integer' | 'enum' | 'string',
  byDefault: string | number | boolean | null,
) => ({
  name,
  type,
  default: byDefault,
  help: name,
});
const TOOLS: AvailableTool[] = [
  {
    tool: 'ffprobe',
    latest: '9.0',
    selectable: true,
    default: true,
    help: '',
    options: [
      option('show_format', 'boolean', true),
      option('show_frames', 'boolean', false),
      option('probesize', 'integer', null),
      option('select_streams', 'string', null),
    ],
    versions: [{ version: '9.0', latest: true, options: [] }],
  },
  {
    tool: 'mediastreamvalidator',
    latest: '1.0',
    selectable: false,
    default: false,
    help: '',
    options: [],
    versions: [],
  },
];
const URL_ = 'https://media.test/a.mp4';

describe('console: a request as form, body and copies', () => {
  const BODIES: [query: string, body: object][] = [
    ['', {}],
    ['ffprobe.version=7.1&ffprobe.show_frames=true', { ffprobe: { version: '7.1', show_frames: true } }],
    ['ffprobe.show_format=true&ffprobe.show_frames=false&ffprobe.version=', {}],
    ['ffprobe.show_format=false&ffprobe.probesize=5000', { ffprobe: { show_format: false, probesize: 5000 } }],
    ['ffprobe.probesize=many', { ffprobe: { probesize: 'many' } }],
    ['ffprobe.enabled=false&ffprobe.version=7.1', { ffprobe: { enabled: false } }],
    ['mediastreamvalidator.enabled=true&mediastreamvalidator.version=2', { mediastreamvalidator: { enabled: true } }],
    [
      'probe_report.enabled=false&timeline.enabled=true&policy=shared/web',
      { probe_report: { enabled: false }, policy: 'shared/web', timeline: { enabled: true } },
    ],
    ['ffprobe.__proto__=1&constructor=2&nothing=3', {}],
  ];
  for (const [query, body] of BODIES)
    it(`body of ${query === '' ? 'nothing' : query}`, () => {
      assert.deepEqual(bodyOf(` ${URL_} `, new URLSearchParams(query), TOOLS), { url: URL_, ...body });
    });

  const ADDRESSES: [url: string, secrets: boolean, shown: string][] = [
    ['https://a.test/b.mp4', false, 'https://a.test/b.mp4'],
    ['https://a.test/b@c.mp4', false, 'https://a.test/b@c.mp4'],
    ['https://me:pw@a.test/b.mp4', true, 'https://a.test/b.mp4'],
    ['s3://KEY:SECRET@bucket/a/b', true, 's3://bucket/a/b'],
    ['s3://KEY:SEC/RET@bucket/a', true, 's3://bucket/a'],
    ['s3://KEY:123/RE+T@bucket/a', true, 's3://bucket/a'],
    ['s3://bucket/a@b.mp4', false, 's3://bucket/a@b.mp4'],
    ['https://a.test:8080/b@c.mp4', false, 'https://a.test:8080/b@c.mp4'],
    ['ftp://me:p/w@a.test/b', true, 'ftp://a.test/b'],
    ['https://me:p@w@a.test/b', true, 'https://a.test/b'],
    ['https://a.test/b?X-Sig=abc&v=1', true, 'https://a.test/b?X-Sig=REDACTED&v=REDACTED'],
    ['https://a.test/b?sig=a=b#frag', true, 'https://a.test/b?sig=REDACTED'],
    ['https://a.test/b?c2lnbmF0dXJl', true, 'https://a.test/b?REDACTED'],
    ['https://a.test/b?v=1&c2lnbmF0dXJl', true, 'https://a.test/b?v=REDACTED&REDACTED'],
    ['https://a.test/b?', false, 'https://a.test/b?'],
    ['https://a.test/a&b=c#?d', false, 'https://a.test/a&b=c'],
  ];
  for (const [url, secrets, shown] of ADDRESSES)
    it(`secrets of ${url}`, () => {
      assert.deepEqual([hasSecrets(url), withoutSecrets(url)], [secrets, shown]);
      assert.equal(isRedacted(shown), shown.includes('REDACTED'));
    });

  it('a request of the log fills the form in, without what has its default', () => {
    const request = JSON.stringify({
      url: 'https://a.test/b?sig=REDACTED',
      timeout: 30_000,
      only: null,
      ffprobe: {
        enabled: true,
        version: '7.1',
        timeout: 5000,
        show_format: true,
        show_frames: true,
        select_streams: null,
      },
      policy: { rules: [] },
    });
    const query = withoutDefaults(queryOf({ type: 'file', request, policy: 'house' }), TOOLS);
    assert.equal(
      query.toString(),
      'url=https%3A%2F%2Fa.test%2Fb%3Fsig%3DREDACTED&ffprobe.version=7.1&ffprobe.show_frames=true&policy=house',
    );
    const latest = queryOf({ type: 'file', request: '{"url":"https://a.test/b","ffprobe":{"version":"latest"}}' });
    assert.equal(latest.get('ffprobe.version'), null);
    const single = queryOf({ type: 'msv', request: '{"url":"https://a.test/b","inject_json":true}' });
    assert.equal(single.get('mediastreamvalidator.enabled'), 'true');
  });

  const ONLY: [only: string, more: object, on: string[], off: string[]][] = [
    ['qc', {}, ['qc'], ['ffprobe', 'mediainfo', 'probe_report', 'mediastreamvalidator', 'c2pa']],
    ['probe_report', {}, ['probe_report'], ['mediastreamvalidator', 'c2pa', 'qc']],
    [
      'probe_report',
      { ffprobe: { enabled: true }, mediainfo: { enabled: false } },
      ['ffprobe', 'probe_report'],
      ['mediainfo', 'mediastreamvalidator', 'c2pa', 'qc'],
    ],
  ];
  for (const [only, more, on, off] of ONLY)
    it(`only ${only} with ${JSON.stringify(more)}: turns on ${on.join(' and ')}`, () => {
      const query = queryOf({ type: 'file', request: JSON.stringify({ url: URL_, only, ...more }) });
      const named = (value: string) =>
        [...query].flatMap(([name, one]) => (one === value ? [name.replace('.enabled', '')] : []));
      assert.deepEqual([named('true'), named('false').toSorted()], [on, off.toSorted()]);
    });

  it('headers and cookies: a line for each, and only what was entered is sent', () => {
    assert.deepEqual(secretsOf(NO_SECRETS), {});
    assert.deepEqual(secretsOf({ headers: 'X-Key: a:b\n\nnone\n', cookies: 'sid=a=b', credential: ' masters ' }), {
      headers: { 'X-Key': 'a:b', none: '' },
      cookies: { sid: 'a=b' },
      credential: 'masters',
    });
  });

  it('curl: a quote in the address ends no argument, and no token is in it', () => {
    const text = curlOf('https://probe.test', { url: `https://a.test/'$(id)'` });
    assert.match(text, /\$PROBEYARD_TOKEN"/);
    assert.ok(text.endsWith(String.raw`-d '{"url":"https://a.test/'\''$(id)'\''"}'`), text);
  });

  it('ProbeJob: an address with secrets is named as a Secret', () => {
    const query = new URLSearchParams('ffprobe.version=7.1&ffprobe.probesize=50&policy=shared/web');
    assert.equal(
      yamlOf(URL_, query, TOOLS),
      `apiVersion: probeyard.dev/v1alpha1
kind: ProbeJob
metadata:
  generateName: probe-
spec:
  source:
    url: "https://media.test/a.mp4"
  tools:
    - name: ffprobe
      version: "7.1"
      options:
        probesize: "50"
  policy:
    name: "shared/web"
`,
    );
    const secret = yamlOf('https://me:pw@a.test/b?c=d', query, TOOLS);
    assert.match(secret, /secretRef:\n {6}name: probe-source/);
    assert.doesNotMatch(secret, /pw|a\.test/);
  });
});

probingConsoleTest('console: playground', {}, (c) => {
  const visit = (path: string, look: Look, work: (v: Visit) => Promise<void>) =>
    visitAs(c, ADMIN.email, { path, look, password: ADMIN.password }, work);
  const status = (id: string, conditions: [type: string, status: string, reason: string][]) =>
    c.api.kube.mergePatchStatus(
      PROBE_JOBS,
      id,
      {
        conditions: conditions.map(([type, one, reason]) => ({
          type,
          status: one,
          reason,
          message: '',
          lastTransitionTime: new Date().toISOString(),
        })),
        queueTimeMs: 12,
      },
      { namespace: c.api.namespace },
    );

  it('by keys: composed, sent, followed through its steps, and read', async () => {
    await visit('/playground', {}, async ({ page, accessible }) => {
      await page.getByLabel('Address of the media').fill('https://reader:hidden@play.test/a.mp4');
      await accessible('playground form wide light');
      await page.getByLabel('Version of ffprobe').selectOption('3.3');
      await page.getByRole('group', { name: 'ffprobe' }).locator('summary').click();
      await page.getByLabel('Find an option of ffprobe').fill('show_frames');
      await page.getByLabel('show_frames').check();
      await accessible('playground options wide light');
      await page.getByText('curl', { exact: true }).click();
      await page.getByText('ProbeJob', { exact: true }).click();
      assert.doesNotMatch(page.url(), /hidden/);
      assert.match(page.url(), /ffprobe\.version=3\.3&ffprobe\.show_frames=true/);
      const shown = await page.getByLabel('The request as curl').innerText();
      assert.match(shown, /\$PROBEYARD_TOKEN/);
      await page.getByText('curl and JSON hold them').waitFor();
      await accessible('playground copies wide light');

      await page.getByLabel('Address of the media').focus();
      await page.keyboard.press('Enter');
      const job = await c.api.job('play.test');
      const { name: id } = job.metadata;
      assert.deepEqual(
        job.spec.tools?.map(({ name, version, options }) => [name, version, options]),
        [
          ['ffprobe', '3.3', { show_frames: 'true' }],
          ['mediainfo', '24.06', undefined],
        ],
      );
      await page.getByRole('button', { name: 'Cancel' }).waitFor();
      await page.getByRole('listitem').filter({ hasText: 'Queued' }).and(page.locator('[aria-current=step]')).waitFor();
      await status(id, [
        ['Admitted', 'False', 'TokenAtLimit'],
        ['Succeeded', 'Unknown', 'TokenAtLimit'],
      ]);
      await page.getByText(/the token runs as many requests/).waitFor();
      await accessible('playground queued wide light');
      await status(id, [
        ['Admitted', 'True', 'Admitted'],
        ['Succeeded', 'Unknown', 'Running'],
      ]);
      await page.getByRole('listitem').filter({ hasText: 'Tools' }).and(page.locator('[aria-current=step]')).waitFor();
      await c.api.end(id, { result: { tools: [ran('ffprobe', '{"format":{"tags":{"a":"<b>"}}}')], ioUsage: 9 } });
      await page.getByText('"a":"<b>"').waitFor();
      const steps = page.getByRole('list', { name: 'Steps' }).getByRole('listitem');
      await steps.filter({ hasText: /Recorded after \d+\.\d\d s/ }).waitFor();
      await steps.filter({ hasText: 'Admitted after 0.01 s' }).waitFor();
      await accessible('playground ended wide light');
      // What is shown stands in the address.
      await page.reload();
      await page.getByText('"a":"<b>"').waitFor();
      assert.doesNotMatch(c.api.log.join('\n'), /hidden/);
      await page.getByRole('link', { name: 'The page of this request' }).click();
      await page.getByText(/^admitted after 0\.01 s, recorded after \d+\.\d\d s$/).waitFor();
      await page.getByRole('link', { name: 'Open in the playground' }).click();
      await page.getByRole('heading', { name: 'Playground' }).waitFor();
      assert.equal(await page.getByLabel('Version of ffprobe').inputValue(), '3.3');
      assert.match(await page.getByLabel('Address of the media').inputValue(), /play\.test\/a\.mp4/);
    });
  });

  it("the known vulnerabilities of a version stand beside it, as its ProbeTool's warning says them", async () => {
    const warning = 'affected by CVE-2000-1';
    const set = (value: string | null) =>
      c.api.kube.mergePatchStatus(PROBE_TOOLS, 'ffprobe-3.3', { warning: value }, { namespace: c.api.namespace });
    await set(warning);
    try {
      await until('the API has read it', async () => {
        const headers = { Authorization: `Bearer ${c.api.token}` };
        return (await (await fetch(`${c.api.url}/v1/versions`, { headers })).text()).includes(warning);
      });
      await visit('/playground?ffprobe.version=3.3', {}, async ({ page, accessible }) => {
        await page.getByText(`Version 3.3: ${warning}`).waitFor();
        await accessible('playground warning wide light');
        await page.getByLabel('Version of ffprobe').selectOption('');
        await page.getByText(`Version 3.3: ${warning}`).waitFor({ state: 'detached' });
      });
    } finally {
      await set(null);
    }
  });

  it('cancelled on a phone in the dark', async () => {
    await visit(
      '/playground?url=https://cancel.test/a.mp4&mediainfo.enabled=false',
      { width: 390, theme: 'dark', expected: /\b499\b/ },
      async ({ page, accessible }) => {
        await page.getByRole('button', { name: 'Run', exact: true }).click();
        const { metadata } = await c.api.job('cancel.test');
        await page.getByRole('button', { name: 'Cancel' }).waitFor();
        await accessible('playground running 390 dark');
        await page.getByRole('button', { name: 'Cancel' }).click();
        await page.getByRole('button', { name: 'Cancelling …' }).waitFor();
        await c.api.end(metadata.name, {
          close: { status: 499, reason: 'Cancelled', error: 'the request was cancelled', startedAt: null },
        });
        await page.getByRole('heading', { name: 'Cancelled' }).waitFor();
        await page.getByRole('listitem').filter({ hasText: 'Admitted never' }).waitFor();
        await accessible('playground cancelled 390 dark');
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'the page scrolls sideways');
      },
    );
  });

  it('refused: the field that the API names is marked and has the focus', async () => {
    const look = { expected: /\b400\b/ };
    await visit('/playground?url=http://10.0.0.1/a.mp4', look, async ({ page, accessible }) => {
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByText('url: the address is not allowed').waitFor();
      await page.locator('input[name=url]:focus').waitFor();
      await accessible('playground refused wide light');
      await page.getByLabel('Address of the media').fill('https://a.test/b?sig=REDACTED');
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByRole('alert').getByText('enter it again').waitFor();
    });
  });

  it('a file of this machine is sent as a form with the options of the form, and can be taken back', async () => {
    await visit('/playground?ffprobe.version=3.3', {}, async ({ page, accessible }) => {
      const file = page.getByLabel('Or drop a file here:');
      await file.setInputFiles({ name: '<b>a</b>.mp4', mimeType: 'video/mp4', buffer: Buffer.alloc(3_000_000, 'x') });
      await page.getByText('<b>a</b>.mp4').waitFor();
      assert.equal(await page.getByLabel('Address of the media').isDisabled(), true);
      await accessible('playground file wide light');
      await page.getByRole('button', { name: 'Remove the file' }).click();
      await file.setInputFiles({ name: 'film.mp4', mimeType: 'video/mp4', buffer: Buffer.alloc(3_000_000, 'x') });
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      // A job of an upload has no host.
      const { metadata, spec } = await c.api.job('');
      assert.equal(spec.source.display, 'upload:///film.mp4');
      assert.equal(spec.tools?.find(({ name }) => name === 'ffprobe')?.version, '3.3');
      await c.api.end(metadata.name, { result: { tools: [ran('ffprobe', '{"x":"sent"}')], ioUsage: 9 } });
      await page.getByText('"x":"sent"').waitFor();
    });
  });

  it('a file that is too large is refused in the words of the API', async () => {
    await visit('/playground', { expected: /\b400\b/ }, async ({ page }) => {
      const buffer = Buffer.alloc(8_000_001, 'x');
      await page.getByLabel('Or drop a file here:').setInputFiles({ name: 'a.mp4', mimeType: 'video/mp4', buffer });
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByRole('alert').getByText('file: must have at most 8000000 bytes').waitFor();
    });
  });

  it('headers and a credential are sent, and stand in no address and no copy', async () => {
    await visit('/playground?url=https://headed.test/a.mp4', {}, async ({ page }) => {
      await page.getByText('Headers, cookies and credential').click();
      await page.getByLabel('Headers', { exact: true }).fill('X-Key: secret-value');
      const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/file'));
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      assert.deepEqual((await sent).postDataJSON().headers, { 'X-Key': 'secret-value' });
      await c.api.job('headed.test');
      assert.doesNotMatch(page.url(), /secret/);
      await page.getByText('JSON', { exact: true }).click();
      assert.doesNotMatch(await page.getByLabel('The request as JSON').innerText(), /secret/);
    });
  });

  it('offline: says so, and goes on when it is asked to', async () => {
    const look = { expected: /ERR_INTERNET_DISCONNECTED|\b404\b/ };
    await visit('/playground?url=https://offline.test/a.mp4', look, async ({ page, context, accessible }) => {
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      const { metadata } = await c.api.job('offline.test');
      await page.getByRole('button', { name: 'Cancel' }).waitFor();
      await context.setOffline(true);
      await page.getByText('This server cannot be reached.').waitFor();
      await accessible('playground offline wide light');
      await context.setOffline(false);
      await c.api.end(metadata.name, {
        close: { status: 404, reason: 'OriginUnreachable', error: 'the source <i>is</i> not there' },
      });
      await page.getByText('the source <i>is</i> not there').waitFor();
      await page.getByRole('heading', { name: 'It ended with status 404' }).waitFor();
    });
  });
});
