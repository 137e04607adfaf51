/** What is printed for CI systems and people, with texts that try to break out. */
import assert from 'node:assert/strict';
import { readXml } from './xml.ts';
import { ciText } from '../../src/cli/output/for_ci.ts';
import type { Judged } from '../../src/media/ci_formats/judged.ts';
import { tableText } from '../../src/cli/output/text_table.ts';
import { shownSource } from '../../src/cli/given_source.ts';
import { masked } from '../../src/cli/exits.ts';

const HOSTILE = '<&"\'>]]>\u0000\u001b[31m\ud800 100%\r\n::error::x,y:z';
const judged: Judged[] = [
  {
    subject: 'https://media.example.com/a.mp4?sig=REDACTED',
    by: 'house revision 3',
    outcome: 'fail',
    findings: [
      { rule: 'codec', outcome: 'pass', blocking: true, message: 'h264 is h264' },
      {
        rule: HOSTILE,
        outcome: 'fail',
        blocking: true,
        message: HOSTILE,
        place: 'video[0].size.width',
        detail: HOSTILE,
      },
      { rule: 'soft', outcome: 'warn', blocking: false, message: 'a bit long' },
      { rule: 'open', outcome: 'unknown', blocking: true, message: 'mediainfo failed' },
      { rule: 'none', outcome: 'not-applicable', blocking: true, message: 'no audio' },
      { rule: 'line', outcome: 'fail', blocking: true, message: 'm', url: 'https://media.example.com/m.m3u8', line: 7 },
    ],
  },
  { subject: 'https://media.example.com/b.mp4', by: 'house', outcome: 'unknown', findings: [], error: HOSTILE },
];

describe('reports for CI systems', () => {
  it('JUnit: is well-formed, counts each outcome, and has an error where nothing could be judged', async () => {
    const { elements, texts } = readXml(await ciText('junit', judged));
    const [suites] = elements.filter(({ name }) => name === 'testsuites');
    assert.deepEqual(
      [suites!.attributes['failures'], suites!.attributes['errors'], suites!.attributes['skipped']],
      ['2', '2', '1'],
    );
    assert.equal(elements.filter(({ name }) => name === 'testcase').length, 7);
    assert.equal(elements.filter(({ name }) => name === 'failure').length, 2);
    assert.equal(elements.filter(({ name }) => name === 'error').length, 2);
    assert.ok(texts.some((text) => text.includes('warning: a bit long')));
  });

  it('SARIF: an unknown result is open, and the run is then not successful', async () => {
    const log = JSON.parse(await ciText('sarif', judged));
    const [{ results, invocations, tool }] = log.runs;
    assert.equal(log.version, '2.1.0');
    assert.deepEqual(
      results.map(({ kind, level }: { kind: string; level: string }) => `${kind} ${level}`),
      ['pass none', 'fail error', 'fail warning', 'open none', 'notApplicable none', 'fail error'],
    );
    assert.equal(invocations[0].executionSuccessful, false);
    assert.equal(invocations[0].toolExecutionNotifications.length, 2);
    assert.equal(tool.driver.rules.length, 6);
    assert.deepEqual(results[5].locations[0].physicalLocation, {
      artifactLocation: { uri: 'https://media.example.com/m.m3u8' },
      region: { startLine: 7 },
    });
  });

  it('GitHub: each annotation is one command, whatever a message contains', async () => {
    const lines = (await ciText('github', judged)).trimEnd().split('\n');
    assert.equal(lines.length, 5);
    for (const line of lines) assert.match(line, /^::(?:error|warning) title=[^:,]*::/);
    assert.ok(lines[0]!.includes('%25') && lines[0]!.includes('%0A') && !lines[0]!.includes('\u001b'));
  });

  it('of files that pass, GitHub is told nothing', async () =>
    assert.equal(await ciText('github', [{ ...judged[0]!, findings: [judged[0]!.findings[0]!] }]), ''));
});

describe('tables', () => {
  it('show no control character of a cell, and are cut on terminals alone', () => {
    const rows = [['a', `x${HOSTILE}${'y'.repeat(200)}`]];
    const piped = tableText({ colour: false, interactive: false, width: 80 }, ['A', 'B'], rows);
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(piped.replaceAll('\n', ''), /[\u0000-\u001f\u007f-\u009f]/);
    assert.equal(piped.split('\n').length, 3);
    assert.ok(piped.includes('y'.repeat(200)));
    const shown = tableText({ colour: false, interactive: true, width: 80 }, ['A', 'B'], rows);
    assert.ok(shown.split('\n').every((line) => line.length <= 80));
  });
});

describe('shown addresses', () => {
  const table: [string, string][] = [
    ['https://media.example.com/a.mp4', 'https://media.example.com/a.mp4'],
    ['https://user:pa55@media.example.com/a.mp4', 'https://media.example.com/a.mp4'],
    ['https://media.example.com/a.mp4?sig=abc&x=1#f', 'https://media.example.com/a.mp4?sig=REDACTED&x=REDACTED'],
    ['s3://KEY:SEC/RET@bucket/film.mp4', 's3://bucket/film.mp4'],
    ['https://media.example.com/a@b.mp4', 'https://media.example.com/a@b.mp4'],
    ['https://KEY:SEC/RET@s3.amazonaws.com/bucket/a.mp4', 'https://s3.amazonaws.com/bucket/a.mp4'],
    ['https://media.example.com/a.mp4?secret', 'https://media.example.com/a.mp4?REDACTED'],
    ['https://user@media.example.com/a.mp4', 'https://media.example.com/a.mp4'],
  ];
  for (const [given, shown] of table)
    it(`${given} is shown as ${shown}`, () => assert.equal(shownSource(given), shown));

  it('tokens are masked in everything that is no data', () => {
    const token = 'Ab3'.repeat(22).slice(0, 64);
    const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOjF9.c2lnbmF0dXJl';
    for (const secret of [token, jwt, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])
      assert.equal(masked(`cannot read ${secret}: refused`), 'cannot read REDACTED: refused');
  });
});
