/** `probeyard` beside a real installation: real tools, real servers, a process of its own. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, request, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROBE_TOOLS } from '../../src/platform/kube/client.ts';
import { toneWav } from '../qc/media.ts';
import { freePort } from '../free_port.ts';
import { until } from '../until.ts';
import { ended, startInstallation, type Installation } from './rig.ts';
import { readXml } from './xml.ts';

const root = join(import.meta.dirname, '../..');
const fixtures = join(root, 'test/fixtures');
const H264 = 'rules:\n  - { name: codec, each: video, field: codec.name, is: h264 }\n';
const HEVC = '{"rules": [{"name": "codec", "each": "video", "field": "codec.name", "is": "hevc"}]}';
const OPEN = 'rules:\n  - { name: hls, findings: { must-fix: 0 } }\n';
const sameRule = (n: number): string => `  - { name: rule-${n}, field: container.format, is: mp4 }\n`;
const FOUR = `rules:\n${[1, 2, 3, 4].map(sameRule).join('')}`;
const PLAYLIST = '#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:4,\na.ts\n#EXT-X-ENDLIST\n';

describe('probeyard', function () {
  this.timeout(180_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-commands-'));
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  let here: Installation;
  let film: string;
  let missing: string;
  before(async function () {
    here = await startInstallation(
      [
        { tool: 'ffprobe', version: '9.0', latest: true },
        { tool: 'ffprobe', version: '4.4' },
        { tool: 'mediainfo', version: '26.10', latest: true },
        { tool: 'qc', version: '7.1', latest: true },
      ],
      this,
    );
    const { url } = await here.origin(fixtures);
    film = `${url}/tiny.mp4`;
    missing = `${url}/nothing.mp4`;
  });
  after(async () => {
    await here?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const json = async (...args: string[]): Promise<any> => {
    const { code, stdout, stderr } = await here.probeyard([...args, '-o', 'json']);
    assert.equal(code, 0, stderr);
    assert.equal(stderr, '', 'nothing but data where nobody watches');
    return JSON.parse(stdout.toString());
  };
  const printed = async (code: number, ...args: string[]): Promise<string> => {
    const done = await here.probeyard(args);
    assert.equal(done.code, code, done.stderr + done.stdout.toString());
    return done.stdout.toString();
  };
  const fails = async (code: number, ...args: string[]): Promise<string> => {
    const done = await here.probeyard(args);
    assert.deepEqual([done.code, done.stdout.toString()], [code, ''], done.stderr);
    return done.stderr;
  };

  it('versions: lists the tools of the installation', async () => {
    const { tools } = await json('versions');
    assert.deepEqual(
      tools[0].versions.map(({ version }: { version: string }) => version),
      ['9.0', '4.4'],
    );
    assert.match(await printed(0, 'versions'), /^ffprobe +9\.0 +9\.0 4\.4$/m);
    assert.match(await printed(0, 'versions', '-o', 'yaml'), /^success: true\ntools:\n {2}- tool: ffprobe\n/);
  });

  it('versions: what is known of the vulnerabilities of a version is a note, beside the data', async () => {
    const warning = 'affected by CVE-2000-1';
    const set = (value: string | null) =>
      here.cluster.kube.mergePatchStatus(
        PROBE_TOOLS,
        'ffprobe-4.4',
        { warning: value },
        {
          namespace: here.cluster.namespace,
        },
      );
    await set(warning);
    try {
      const noted = await until('the API has read it', async () => {
        const done = await here.probeyard(['versions']);
        return done.stderr === '' ? undefined : done;
      });
      assert.equal(noted.stderr, `ffprobe 4.4: ${warning}\n`);
      assert.match(noted.stdout.toString(), /^ffprobe +9\.0 +9\.0 4\.4$/m);
    } finally {
      await set(null);
    }
  });

  it('probe: prints the answer of the API as JSON, a summary, and the bare output', async () => {
    const { ffprobe, probe_report: report } = await json('probe', film);
    assert.equal(ffprobe.response.format.format_name, 'mov,mp4,m4a,3gp,3g2,mj2');
    assert.equal(report.response.codec.name, 'h264');
    assert.match(
      await printed(0, 'probe', film),
      /^MP4, 2\.00 s, .*, H\.264 .*\n# +TYPE +CODEC +DURATION +DETAILS\n0 +video +h264, /m,
    );
    const options = ['--only', 'ffprobe', '--ffprobe', '4.4', '--set', 'ffprobe.output_format=csv'];
    assert.match(await printed(0, 'probe', film, ...options, '-o', 'raw'), /^stream,0,h264,/);
  });

  it('probe: content checks alone, and beside the report', async () => {
    const text = await printed(0, 'probe', film, '--only', 'qc', '--set', 'qc.freeze_min=0.5');
    assert.match(text, /^STREAM +TYPE +DECODED +LOUDNESS/m);
    assert.match(text, /^0 +video +\d\.\d\d s$/m);
    assert.match(text, /^1 +audio +\d\.\d\d s +.* dBFS$/m);
    assert.match(text, /^done qc in /m);
    const { qc, probe_report: report } = await json('probe', film, '--qc');
    assert.deepEqual([qc.success, qc.response.video.length, report.success], [true, 1, true]);
  });

  it('qc: judges files that are sent by their longest passages, and no source that cannot be read', async () => {
    const silent = join(folder, 'silent.wav');
    writeFileSync(silent, toneWav(5, 0.25, [1, 4]));
    const warned = await printed(0, 'qc', silent);
    assert.match(warned, / 1 silence in stream 0\.$[^]*^silence +0 +1\.\d\d s +4\.\d\d s +3\.\d\d s$/m);
    assert.match(warned, /^warn$/m);
    assert.match(await printed(1, 'qc', silent, '--longest-silence', '1s'), /^block silence of 3\.\d\d s from 1\.\d/m);
    await printed(1, 'qc', silent, '--fail-on', 'warn');
    const done = await here.probeyard(['qc', silent, missing, '--longest-silence', '500ms', '-o', 'json']);
    const [first, second] = JSON.parse(done.stdout.toString());
    assert.deepEqual(
      [done.code, first.verdict, first.findings[0].check, first.longest.silence, first.report.thresholds.silence_min],
      [1, 'block', 'silence', 0.5, 0.5],
    );
    assert.deepEqual([second.url, second.verdict, second.code], [missing, 'unknown', 'http-404']);
    await printed(3, 'qc', missing);
    assert.match(await fails(2, 'qc', silent, '--longest-black', '10'), /--longest-black: must be a time/);
  });

  it('qc: looks for damage, and compares a file with its hash in a manifest', async () => {
    const tone = join(folder, 'tone.wav');
    writeFileSync(tone, toneWav(1, 0.1));
    const sha256 = createHash('sha256').update(readFileSync(tone)).digest('hex');
    const right = file('right.txt', `${sha256}  tone.wav\n`);
    const whole = await printed(0, 'qc', tone, '--integrity', '--manifest', right);
    assert.match(whole, new RegExp(` The file: SHA-256 ${sha256}, 192044 bytes, as given\\.$`, 'm'));
    const wrong = file('wrong.txt', `${'0'.repeat(64)}  data/tone.wav\n`);
    assert.match(await printed(1, 'qc', tone, '--manifest', wrong), /^block file: its hash is not the one that/m);
    assert.match(await fails(2, 'qc', film, '--manifest', right), /--manifest: .*right\.txt has no hash of /);
  });

  it('waiver: a silence that is accepted blocks no more, until the waiver is deleted', async () => {
    const accepted = join(folder, 'accepted.wav');
    writeFileSync(accepted, toneWav(5, 0.25, [1, 4]));
    const qc = ['qc', accepted, '--longest-silence', '1s'];
    const [, probed] = /^request (\S+)$/m.exec(await printed(1, ...qc)) ?? [];
    const fingerprint = ['--check', 'silence', '--stream', '0', '--from', '1', '--to', '4'];
    const why = ['--reason', 'Meant to be silent', '--until', '30d'];
    const id = (await printed(0, 'waiver', 'create', probed!, ...fingerprint, ...why)).trim();
    const text = await printed(0, ...qc);
    assert.match(text, / 1 silence in stream 0\.$/m, 'the report stays as it is');
    assert.match(text, /^silence +0 +1\.\d\d s +4\.\d\d s +waived until \S+ by .*: Meant to be silent$/m);
    assert.match(text, /^pass \(1 finding is waived\)$/m);
    assert.match(
      await printed(0, 'waiver'),
      new RegExp(`^${id} +in force .* silence in stream 0, 1 to 4 s +upload:///`, 'm'),
    );
    await printed(0, 'waiver', 'delete', id);
    assert.deepEqual(await json('waiver', 'list'), []);
    assert.equal((await json('waiver', 'list', '--ended')).length, 1);
    await printed(1, ...qc);
    assert.match(await fails(2, 'waiver', 'create', ...fingerprint, '--until', '30d'), /--reason is missing/);
    assert.match(await fails(2, 'waiver', 'create', probed!, ...fingerprint, ...why, '--from', 'x'), /--from/);
    assert.match(await fails(2, 'waiver', 'delete'), /ID is missing/);
  });

  it('probe: of several addresses prints a list in their order, and the worst exit code', async () => {
    const done = await here.probeyard(['probe', film, missing, film, '-o', 'json', '--parallel', '2']);
    assert.equal(done.code, 1, done.stderr);
    const list = JSON.parse(done.stdout.toString());
    assert.deepEqual(
      list.map(({ url, success }: { url: string; success: boolean }) => [url, success]),
      [
        [film, true],
        [missing, false],
        [film, true],
      ],
    );
  });

  it('probe: says why a source cannot be read, and what is wrong with a field', async () => {
    assert.equal(await fails(1, 'probe', missing), 'probeyard: the host answered 404 (http-404)\n');
    assert.match(await fails(2, 'probe', film, '--ffprobe', '1.0'), /ffprobe\.version: "1\.0" is not available/);
  });

  it('check: exits with 0, 1, 2 and 3 for pass, fail, mistake and not judged', async () => {
    const [h264, hevc, open] = [file('h264.yaml', H264), file('hevc.json', HEVC), file('open.yaml', OPEN)];
    assert.match(await printed(0, 'check', film, '-p', h264), /^pass \S+\/h264\.yaml: 1 of 1 rule passed$/m);
    assert.match(await printed(1, 'check', film, '-p', hevc), /^codec +fail +streams\[0\]\.codec\.name/m);
    assert.match(await printed(3, 'check', film, '-p', open), /^unknown /m);
    assert.match(await printed(3, 'check', missing, '-p', h264), /^unknown the host answered 404 \(http-404\)$/m);
    assert.match(await fails(2, 'check', film), /--policy is missing/);
    assert.match(await fails(2, 'check', film, '-p', file('bad.yaml', 'rules: [')), /bad\.yaml: is not valid YAML/);
  });

  it('what is no media fails with what it is, and a policy that needs it says so once', async () => {
    const { url } = await here.origin(
      (_request, response) =>
        void response
          .writeHead(200, { 'content-type': 'text/html' })
          .end('<html><head><title>Login</title></head></html>'),
    );
    const why = 'the source is not media: it is an HTML page, text/html, title "Login", 46 B';
    const said = await printed(1, 'probe', `${url}/film.mp4`);
    assert.match(said, new RegExp(`^failed ffprobe: ${why} \\(not-media\\)$`, 'm'));
    assert.match(said, new RegExp(`^failed mediainfo: ${why} \\(not-media\\)$`, 'm'));
    const checked = await printed(3, 'check', `${url}/film.mp4`, '-p', file('four.yaml', FOUR));
    assert.equal(checked, `${url}/film.mp4\nunknown ${why} (not-media)\n`);
    const judged = await here.probeyard(['check', `${url}/film.mp4`, '-p', file('four.yaml', FOUR), '-o', 'json']);
    const [verdict] = JSON.parse(judged.stdout.toString());
    assert.deepEqual([verdict.outcome, verdict.error, verdict.code], ['unknown', why, 'not-media']);
    const [one] = JSON.parse((await here.probeyard(['probe', missing, film, '-o', 'json'])).stdout.toString());
    assert.deepEqual([one.error, one.code], ['the host answered 404', 'http-404']);
  });

  it('check: a report as JUnit beside annotations, of one run', async () => {
    const report = join(folder, 'report.xml');
    const args = ['check', film, missing, '-p', file('hevc.json', HEVC), '-o', 'github', '--report', `junit=${report}`];
    assert.match(
      await printed(1, ...args),
      /^::error title=\S+\/hevc\.json%3A codec::http.*tiny\.mp4, streams\[0\].*\n::error title=\S+\/hevc\.json::/,
    );
    const { elements } = readXml(readFileSync(report, 'utf8'));
    assert.deepEqual(
      ['testsuite', 'failure', 'error'].map((name) => elements.filter((one) => one.name === name).length),
      [2, 1, 1],
    );
  });

  it('hls: findings with their lines, and the exit code of the level that fails', async () => {
    const { url } = await here.origin((_request, response) => {
      response.setHeader('content-type', 'application/vnd.apple.mpegurl').end(PLAYLIST);
    });
    const table = await printed(1, 'hls', `${url}/main.m3u8`);
    assert.match(
      table,
      /^must-fix +extinf-over-target +main\.m3u8:3\n  A segment, .*: 4 s, and the target is 2 s\. Raise the target /m,
    );
    assert.match(table, /\n1 must-fix, \d should-fix, \d info in 1 playlist, 1 segment \(rules .+\)\nLEVEL /);
    const sarif = JSON.parse(await printed(1, 'hls', `${url}/main.m3u8`, '-o', 'sarif'));
    assert.match(sarif.runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri, /main\.m3u8$/);
    for (const { shortDescription, help, helpUri } of sarif.runs[0].tool.driver.rules) {
      assert.match(shortDescription.text, /^[A-Z][^:]+\.$/);
      assert.match(help.text, /\.$/);
      assert.match(helpUri, /^http.*\/docs\/hls-rules$/);
    }
    assert.match(await printed(3, 'hls', missing), /^unknown the host answered 404 \(http-404\)$/m);
  });

  it('compare and diff: which fields differ', async () => {
    assert.match(await printed(0, 'compare', film, '--ffprobe', '4.4,9.0'), /^FIELD +TOOL +LEVEL +CHANGE +4\.4 +9\.0/m);
    assert.equal((await here.probeyard(['compare', film, '--ffprobe', '4.4,9.0', '--exit-code'])).code, 1);
    const { metadata } = await json('probe', film);
    assert.match(await printed(0, 'diff', metadata.request_id, film), /^no field differs$/m);
    assert.match(await printed(0, 'result', metadata.request_id), /^MP4, 2\.00 s/m);
    assert.match(await fails(2, 'compare', film), /name versions/);
  });

  it('compare: --news leaves out what a release is known to change', async () => {
    const args = ['compare', film, '--ffprobe', '4.4,9.0'];
    const { fields, summary } = await json(...args);
    assert.ok(summary.known > 0);
    const news = await json(...args, '--news');
    assert.deepEqual(
      news.fields,
      fields.filter(({ known }: { known?: object }) => known === undefined),
    );
    assert.deepEqual([news.summary.fields, news.summary.known], [summary.fields - summary.known, 0]);
  });

  it('diff: the same bytes under another name and at another host do not differ', async () => {
    mkdirSync(join(folder, 'copies'));
    const copy = file('copies/another name.mov', '');
    copyFileSync(join(fixtures, 'tiny.mp4'), copy);
    const { url } = await here.origin(join(folder, 'copies'));
    assert.match(await printed(0, 'diff', film, `${url}/another%20name.mov`), /^no field differs$/m);
    assert.match(await printed(0, 'diff', film, copy), /^no field differs$/m);
  });

  it('log, usage and token: what the account did and has', async () => {
    const { metadata } = await json('probe', film, '--only', 'ffprobe');
    const { log } = await json('log', '--since', '1h', '--limit', '1000');
    assert.ok(log.some(({ id }: { id: string }) => id === metadata.request_id));
    const logged = await printed(0, 'log', metadata.request_id);
    assert.match(logged, /^status +success$/m);
    assert.match(logged, /^request\.only +ffprobe$/m);
    assert.doesNotMatch(logged, /[{}]/, 'a row for each value');
    assert.match(await printed(0, 'usage'), /^FROM +USER +REQUESTS +TIME +READ +DECODED$/m);
    const made = (await here.probeyard(['token', 'create', '--name', 'ci', '--permission', 'write:media', '-q']))
      .stdout;
    const token = made.toString().trim();
    assert.match(token, /^[A-Za-z0-9]{64}$/);
    const own = { PROBEYARD_TOKEN: token };
    assert.equal((await here.probeyard(['probe', film, '--only', 'ffprobe'], { env: own })).code, 0);
    assert.equal((await here.probeyard(['log'], { env: own })).code, 3);
    assert.match(await printed(0, 'token'), /^ID +NAME +AGE +EXPIRES/);
    const listed = await printed(0, 'token', 'list', '-o', 'json');
    assert.ok(!listed.includes(token) && !listed.includes('whsec_'));
    const { id } = JSON.parse(listed).find(({ name }: { name: string }) => name === 'ci');
    await printed(0, 'token', 'revoke', String(id));
    assert.match((await here.probeyard(['versions'], { env: own })).stderr, /not valid or has expired\n {2}the token/);
  });

  it('label and chargeback: for whom an account is charged, and what it used this month', async () => {
    assert.equal((await json('probe', film, '--only', 'ffprobe')).success, true);
    const { 'users-usage': users } = await json('usage');
    const account = String(users[0]['user-id']);
    assert.equal(
      await printed(0, 'label', account, 'cost-centre=4711', 'team=archive'),
      'cost-centre=4711\nteam=archive\n',
    );
    assert.equal(await printed(0, 'label', account, 'team-'), 'cost-centre=4711\n');
    assert.deepEqual(await json('label', account), { 'cost-centre': '4711' });
    assert.match(
      (await here.probeyard(['label', account, 'team'])).stderr,
      /label: team: must be NAME=VALUE, or NAME-/,
    );
    assert.equal((await here.probeyard(['label', account, 'a b=c'])).code, 2);
    const month = (users[0]['aggregated-usage'].at(-1)['aggregation-time'] as string).slice(0, 7);
    assert.match(
      await printed(0, 'chargeback', '--month', month),
      new RegExp(`^ACCOUNT +LABELS .*\\n${account} +cost-centre=4711 +\\d+ `),
    );
    const csv = await printed(0, 'chargeback', '--month', month, '-o', 'csv');
    assert.match(csv, new RegExp(`^month,account-id,.*\\n${month},${account},"cost-centre=4711",\\d+,`));
    const lines = await printed(0, 'chargeback', '--month', month, '-o', 'ndjson');
    assert.equal(JSON.parse(lines)['account-id'], Number(account));
    assert.equal(await printed(0, 'chargeback', '-o', 'ndjson'), '', 'the month before');
    assert.match((await here.probeyard(['chargeback', '--month', 'may'])).stderr, /month/);
  });

  it('login: keeps a token that works where nobody else can read it', async () => {
    const home = mkdtempSync(join(folder, 'home-'));
    const env = { HOME: home, XDG_CONFIG_HOME: '', PROBEYARD_URL: '', PROBEYARD_TOKEN: '' };
    const path = join(home, '.config/probeyard/config.json');
    const wrong = await here.probeyard(['login', '--server', here.url], { env, input: `${'x'.repeat(64)}\n` });
    assert.equal(wrong.code, 3, wrong.stderr);
    assert.match((await here.probeyard(['versions'], { env })).stderr, /where is the API\?/);
    const { code, stderr } = await here.probeyard(['login', '--server', here.url], { env, input: `${here.token}\n` });
    assert.equal(code, 0, stderr);
    assert.ok(!stderr.includes(here.token));
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal((await here.probeyard(['versions'], { env })).code, 0);
    // Another address never gets a token that it was not kept for.
    const other = await here.probeyard(['versions'], { env: { ...env, PROBEYARD_URL: 'http://127.0.0.1:9' } });
    assert.match(other.stderr, /PROBEYARD_TOKEN is not set/);
    await new Promise((resolve) => spawn('chmod', ['644', path]).on('close', resolve));
    assert.match((await here.probeyard(['versions'], { env })).stderr, /others can read this file.*\n {2}chmod 600 /);
    const out = await here.probeyard(['logout'], { env });
    assert.deepEqual([out.code, out.stdout.toString(), existsSync(path)], [0, '', false]);
    assert.match(out.stderr, /^removed \S+config\.json; the token stays valid until it is revoked\n$/);
    assert.match((await here.probeyard(['logout'], { env })).stderr, /^nothing is kept in /);
  });

  it('probe: --timeline prints one, and so does result', async () => {
    const done = await here.probeyard(['probe', film, '--timeline']);
    const text = done.stdout.toString();
    assert.equal(done.code, 0, done.stderr);
    assert.match(text, /^STREAM +TYPE +CODEC +TIME +MEAN +HIGHEST +KEY FRAMES +BIT RATE OVER TIME$/m);
    assert.match(text, /^0 +video +h264 +\S+ to \S+ s +\S+ kbit\/s .* [▁▂▃▄▅▆▇█]+$/m);
    const [, id] = /^request (\S+),/m.exec(text)!;
    assert.match(await printed(0, 'result', id!), /BIT RATE OVER TIME/);
  });

  it('probe: --cache reads a file once, and again once it has changed', async () => {
    const place = mkdtempSync(join(folder, 'cached-'));
    copyFileSync(join(fixtures, 'tiny.mp4'), join(place, 'film.mp4'));
    const { url, requests } = await here.origin(place);
    const probe = (...more: string[]) => json('probe', `${url}/film.mp4`, '--cache', '1h', ...more);
    const first = await probe();
    assert.deepEqual([first.success, first.metadata.cache], [true, undefined]);
    const read = requests.length;
    const second = await probe();
    assert.equal(second.metadata.cache.request_id, first.metadata.request_id);
    assert.deepEqual(second.probe_report, first.probe_report);
    assert.ok(requests.slice(read).every(({ range }) => range === 'bytes=0-0'));
    assert.match(
      await printed(0, 'probe', `${url}/film.mp4`, '--cache', '7d'),
      /^request \S+, from the cache, read \d+s ago, read /m,
    );
    const policed = await probe('-p', file('cached.yaml', H264));
    assert.deepEqual([policed.policy.outcome, policed.metadata.cache], ['pass', undefined]);
    const again = await probe('-p', file('cached.yaml', H264));
    assert.deepEqual([again.policy, again.metadata.cache.request_id], [policed.policy, policed.metadata.request_id]);
    assert.ok(JSON.stringify(await json('log', '--type', 'cached')).includes(second.metadata.request_id));
    writeFileSync(join(place, 'film.mp4'), readFileSync(join(fixtures, 'tiny.mp4')));
    // What its host said moments ago is taken for true.
    await until('the file is read again', async () => (await probe()).metadata.cache === undefined);
    assert.match(await fails(2, 'probe', film, '--cache', '31d'), /--cache: must be 0s, or from 1s to 30d/);
  });

  it('timeline: of a source, and of a request on record', async () => {
    const head = /^STREAM +TYPE +CODEC +TIME +MEAN +HIGHEST +KEY FRAMES +BIT RATE OVER TIME$/m;
    assert.match(await printed(0, 'timeline', film), head);
    const timeline = await json('timeline', film);
    assert.deepEqual([timeline.success, timeline.streams[0].codec], [true, 'h264']);
    assert.deepEqual(await json('timeline', timeline.request_id), timeline);
    assert.match(await fails(1, 'timeline', missing), /the host answered 404/);
    const { metadata } = await json('probe', film, '--only', 'ffprobe');
    assert.match(await fails(1, 'timeline', metadata.request_id), /no timeline was requested/);
  });

  it('result and probe: the report as one HTML file; result: as a link that works without a token', async () => {
    const page = await printed(0, 'probe', film, '-o', 'html');
    assert.match(page, /^<!doctype html>.*<h1><bdi>tiny\.mp4<\/bdi><\/h1>/s);
    const [, id] = /<code><bdi>([0-9a-f-]{36})<\/bdi><\/code>/.exec(page)!;
    assert.equal(await printed(0, 'result', id!, '-o', 'html'), page);
    const { stdout, stderr } = await here.probeyard(['result', id!, '--link', '90m']);
    assert.match(stderr, /^whoever has this address can read the report until \S+; it is shown this once\n$/);
    assert.match(stdout.toString(), /^http:\/\/127\.0\.0\.1:\d+\/r\/[\w-]{43}\n$/);
    const shared = await fetch(stdout.toString().trim());
    assert.equal(shared.status, 200);
    assert.match(await shared.text(), /Shared by/);
    assert.match(await fails(2, 'result', id!, '--link', '31d'), /hours/);
    assert.match(await fails(2, 'probe', film, film, '-o', 'html'), /-o html prints the report of one source/);
  });

  /** An origin that never answers, so that a request goes on. */
  const hanging = () => here.origin(() => new Promise<void>(() => {}));
  const cancelled = (url: string) =>
    until(
      'the request is recorded as cancelled',
      async () => {
        const { log } = await json('log', '--url', new URL(url).host, '--limit', '1');
        return log[0]?.status === 'error';
      },
      30_000,
    );

  it('Ctrl-C: cancels the request, where nobody watches by closing the connection', async () => {
    const origin = await hanging();
    const child = here.start(['probe', `${origin.url}/a.mp4`]);
    const done = ended(child);
    await until('the source is read', () => origin.requests.length > 0, 30_000);
    child.kill('SIGINT');
    assert.equal((await done).code, 130);
    await cancelled(origin.url);
  });

  it('Ctrl-C on a terminal: shows where the request stands, and cancels it', async () => {
    const origin = await hanging();
    const command = `${process.execPath} ${join(root, 'src/cli/main.ts')} probe ${origin.url}/a.mp4`;
    const child = spawn('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], {
      env: { PATH: process.env['PATH'], TERM: 'xterm', ...here.env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let shown = '';
    child.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
    });
    const closed = once(child, 'close');
    await until('its state is shown', () => /running \d+ s/.test(shown), 60_000);
    child.stdin.write('\u0003');
    const [code] = (await closed) as [number];
    assert.equal(code, 130, shown);
    assert.match(shown, /cancelled the request [0-9a-f-]{36}/);
    await cancelled(origin.url);
  });

  it('a reader that closes the pipe is no error', async () => {
    const probeyard = `"${process.execPath}" "${join(root, 'src/cli/main.ts')}"`;
    const command = `${probeyard} probe ${film} -o json | head -c 1; echo " \${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await here.probeyard([], { program: ['bash', '-c', command] });
    assert.match(stdout.toString(), /^\{ (?:0|null)\n$/, stderr);
    assert.equal(stderr, '');
  });

  /** What stands between a caller and the API. */
  async function relay(listener: RequestListener, port = 0) {
    const between = createServer(listener).listen(port, '127.0.0.1');
    await once(between, 'listening');
    return { between, env: { PROBEYARD_URL: `http://127.0.0.1:${(between.address() as AddressInfo).port}` } };
  }
  function passOn(incoming: IncomingMessage, outgoing: ServerResponse, loses = false): void {
    const { method, headers, url = '' } = incoming;
    const sent = request(`${here.url}${url}`, { method, headers }, (answer) => {
      if (loses) {
        answer.resume();
        outgoing.destroy();
        return;
      }
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(sent);
  }

  it('a connection that breaks before the answer: the same request, which is made once', async () => {
    let losses = 1;
    const { between, env } = await relay((incoming, outgoing) => passOn(incoming, outgoing, losses-- > 0));
    const name = `${film}?broken=1`;
    const done = await here.probeyard(['probe', name, '-o', 'json'], { env });
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stderr, /^cannot reach http:\S+: the connection was closed; next try in 1 s\n$/);
    const { log, pagination } = await json('log', '--url', 'broken=');
    assert.deepEqual([pagination.total, log[0]?.id], [1, JSON.parse(done.stdout.toString()).metadata.request_id]);
    losses = 1;
    const token = await here.probeyard(['token', 'create', '--name', 'lost'], { env });
    between.close();
    assert.equal(token.code, 3, 'what may have been made is not made again');
    assert.match(token.stderr, /^probeyard: cannot reach http:\S+: the connection was closed\n/);
  });

  it('503 with Retry-After is tried again, and a long one is explained', async () => {
    let [refusals, seconds] = [1, 1];
    const { between, env } = await relay((incoming, outgoing) => {
      if (refusals-- > 0)
        outgoing.writeHead(503, { 'Retry-After': String(seconds) }).end('{"error":"the service is not available"}');
      else passOn(incoming, outgoing);
    });
    const patient = await here.probeyard(['versions'], { env });
    assert.equal(patient.code, 0, patient.stderr);
    assert.match(patient.stderr, /the service is not available; next try in 1 s/);
    [refusals, seconds] = [1, 3_600];
    const { code, stderr } = await here.probeyard(['versions'], { env });
    between.close();
    assert.equal(code, 3);
    assert.match(stderr, /^probeyard: the service is not available\n {2}nothing is wrong with the request/);
  });

  it('a connection that is refused is tried again until the server listens', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const child = here.start(['versions'], { PROBEYARD_URL: url });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const done = ended(child);
    await until('it tries again', () => said.includes('next try in 1 s'), 30_000);
    const { between } = await relay((incoming, outgoing) => passOn(incoming, outgoing), port);
    const { code, stdout } = await done;
    between.close();
    assert.equal(code, 0, said);
    assert.match(said, /^cannot reach http:\S+: nothing listens there; next try in 1 s\n/);
    assert.match(stdout.toString(), /^ffprobe +9\.0/m);
  });

  it('an address where nothing listens, a redirect, and what is no Probeyard are said to be that', async () => {
    const env = { PROBEYARD_URL: 'http://127.0.0.1:9' };
    const nobody = await here.probeyard(['versions'], { env });
    assert.equal(nobody.code, 3);
    assert.match(
      nobody.stderr,
      /^(?:cannot reach http:\S+: nothing listens there; next try in [124] s\n){3}probeyard: cannot reach http:\/\/127\.0\.0\.1:9: nothing listens there\n$/,
    );
    const unsent = await here.probeyard(['check', import.meta.filename, '-p', 'delivery'], {
      env,
      timeoutMs: 30_000,
    });
    assert.match(unsent.stdout.toString() + unsent.stderr, /nothing listens there/);
    let seen = '';
    const elsewhere = await here.origin((incoming, response) => {
      seen += incoming.url;
      response.writeHead(302, { location: '/other' }).end();
    });
    const moved = await here.probeyard(['versions'], { env: { PROBEYARD_URL: elsewhere.url } });
    assert.match(moved.stderr, /redirects elsewhere/);
    assert.equal(seen, '/v1/versions', 'the redirect is not followed');
    const page = await here.origin((_request, response) => void response.end('<html>'));
    const other = await here.probeyard(['versions'], { env: { PROBEYARD_URL: page.url } });
    assert.match(other.stderr, /not JSON: is it a Probeyard\?/);
  });
});
