import assert from 'node:assert/strict';
import { type Finding, decoded, encoded, hasFailed, textOf, valuesOf } from '../../src/service/doctor/finding.ts';

const finding = (more: Partial<Finding>): Finding => ({
  id: 'a',
  title: 'a',
  status: 'pass',
  found: 'found',
  wanted: 'this',
  why: 'A reason.',
  ...more,
});

describe('doctor: the report', () => {
  it('joins the lists of several findings', () => {
    const requiring = (wall: string) => finding({ set: { 'runners.isolation.require': [wall] } });
    assert.deepEqual(valuesOf([requiring('UserNamespace'), finding({}), requiring('SyscallFilter')]), {
      runners: { isolation: { require: ['UserNamespace', 'SyscallFilter'] } },
    });
  });

  it('lets a failed check win over a passed one', () => {
    const passed = finding({ set: { 'tools.delivery': 'imageVolume', 'tools.forceImageVolume': true } });
    const failed = finding({ status: 'fail', set: { 'tools.delivery': 'bundled' } });
    for (const order of [
      [passed, failed],
      [failed, passed],
    ])
      assert.deepEqual(valuesOf(order), { tools: { delivery: 'bundled', forceImageVolume: true } });
  });

  it('says of warnings what was wanted, and ends in values', () => {
    const text = textOf([
      finding({ title: 'kernel', found: 'Linux 6.18' }),
      finding({ title: 'DNS', status: 'warn', found: 'slow', set: { 'tools.delivery': 'bundled' } }),
    ]);
    assert.equal(
      text,
      [
        'pass     kernel  Linux 6.18',
        'warn     DNS     slow',
        '                 wanted: this',
        '                 A reason.',
        '',
        'Values to set:',
        '',
        'tools:',
        '  delivery: bundled',
        '',
      ].join('\n'),
    );
    assert.ok(!textOf([finding({})]).includes('Values'));
  });

  it('fails by a failed check alone', () => {
    assert.equal(hasFailed([finding({ status: 'warn' }), finding({ status: 'unknown' })]), false);
    assert.equal(hasFailed([finding({ status: 'fail' })]), true);
  });

  it('is read back from a log with other lines', () => {
    const findings = [finding({ set: { 'tools.delivery': 'bundled' } })];
    assert.deepEqual(decoded(`a warning\n${encoded(findings)}\nanother\n`), findings);
  });

  for (const [title, log] of [
    ['empty', ''],
    ['cut', encoded([finding({})]).slice(0, -3)],
    ['of another form', '{"doctor":1,"findings":[{"id":7}]}'],
    ['without a status', encoded([finding({ status: 'good' as never })])],
  ] as const)
    it(`takes nothing from a log that is ${title}`, () => assert.equal(decoded(log), undefined));
});
