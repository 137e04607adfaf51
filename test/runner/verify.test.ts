import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepsVersion, optionsOf, verify, type VerifyInput } from '../../src/service/runner/verify.ts';
import { protocolsIn } from '../../src/media/tools/ffprobe.ts';
import type { ProofLine } from '../../src/media/tools/proof.ts';
import { FFPROBE_OPTIONS } from '../../src/media/tools/ffprobe_options.ts';

const installed = (tool: string): boolean => spawnSync(tool, ['--version']).error === undefined;

describe('proof of a tool image', () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'probeyard-verify-'));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));
  const check = (command: string[], more: Partial<VerifyInput> = {}): Promise<ProofLine> =>
    verify({ tool: 'ffprobe', version: '5.1', command, ...more }, { toolsDir: directory, nodePath: process.execPath });
  const program = (name: string, text: string | Buffer, mode = 0o755): string => {
    const path = join(directory, name);
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };
  const elf = (machine: number) => {
    const head = Buffer.alloc(64);
    head.write('\u007fELF\u0002\u0001\u0001', 0, 'latin1');
    head.writeUInt16LE(2, 16);
    head.writeUInt16LE(machine, 18);
    return head;
  };

  for (const [tool, version] of [
    ['ffprobe', /^ffprobe version (\d+\.\d+)/],
    ['mediainfo', /^MediaInfoLib - v(\d+\.\d+)/],
  ] as const) {
    it(`proves the installed ${tool}`, async function () {
      if (!installed(tool)) {
        console.log(`      skipped: no ${tool} on this machine`);
        this.skip();
      }
      const path = spawnSync('which', [tool], { encoding: 'utf8' }).stdout.trim();
      const own =
        version.exec(
          spawnSync(path, [tool === 'ffprobe' ? '-version' : '--Version'], { encoding: 'utf8' })
            .stdout.split('\n')
            .find((line) => version.test(line)) ?? '',
        )?.[1] ?? '';
      const proof = await check([path], { tool, version: own });
      assert.ok(proof.ok, JSON.stringify(proof));
      assert.match(proof.version, version);
      assert.ok(proof.startupMs > 0 && proof.options.length > 0 && proof.options.length <= 512);
      if (tool !== 'ffprobe') return;
      const missing = FFPROBE_OPTIONS.filter(
        ({ flag, extra }) => flag !== undefined && !extra && !proof.options.includes(flag),
      );
      assert.deepEqual(
        missing.map(({ name }) => name),
        [],
      );
      assert.ok(proof.protocols.includes('http'));
      assert.deepEqual(
        ((await check([path], { tool, version: '99.9' })) as { reason?: string }).reason,
        'VersionMismatch',
      );
    });
  }

  const refused: [string, () => string[], string][] = [
    ['a missing program', () => ['/nonexistent/ffprobe'], 'FileMissing'],
    ['a program without execute permission', () => [program('plain', 'x', 0o644)], 'NotExecutable'],
    [
      'a program for another architecture',
      () => [program('foreign', elf(process.arch === 'arm64' ? 62 : 183))],
      'WrongArchitecture',
    ],
    ['a program that crashes', () => [program('crash', '#!/bin/sh\nkill -SEGV $$\n')], 'Crashed'],
    ['a program without output', () => ['/bin/true'], 'BadOutput'],
    ['a program that fails without output', () => ['/bin/false'], 'Crashed'],
    [
      'a missing library',
      () => [program('library', '#!/bin/sh\necho "error while loading shared libraries: libz.so.1" >&2; exit 127\n')],
      'FileMissing',
    ],
    [
      'another version',
      () => [program('other', '#!/bin/sh\necho "ffprobe version 6.0.1 Copyright"\n')],
      'VersionMismatch',
    ],
    [
      'a program that cannot read media',
      () => [program('blind', '#!/bin/sh\necho "ffprobe version 5.1.2 Copyright"\n')],
      'BadOutput',
    ],
  ];
  for (const [what, command, reason] of refused) {
    it(`refuses ${what} as ${reason}`, async () => {
      const proof = await check(command());
      assert.equal(proof.ok ? 'proven' : proof.reason, reason);
    });
  }

  it('puts the path of the image into the command', async () => {
    const tools = join(directory, 'ffprobe/5.1/bin');
    spawnSync('mkdir', ['-p', tools]);
    program('ffprobe/5.1/bin/say', '#!/bin/sh\necho "ffprobe version 1.0 $1"\n');
    const proof = await check(['{root}/bin/say', '{root}:{node}']);
    assert.equal(
      proof.ok ? '' : proof.message,
      `the catalog says 5.1, the program says ffprobe version 1.0 ${directory}/ffprobe/5.1:${process.execPath}`,
    );
  });

  const versions: [string, string, boolean][] = [
    ['9.0', '9.0', true],
    ['9.0', '9.0.2', true],
    ['9.0', 'n9.0.1-static', true],
    ['9.0', '9.0-0+deb13', true],
    ['9.0', '9.05', false],
    ['9.0', '19.0', false],
    ['4.3', '4.3.2', true],
    ['4.3', '4.31', false],
    ['24.06', 'v24.06', true],
    ['nightly', 'N-123-g1', true],
    ['4.3.2', '4.3', false],
    ['4.3', 'N-113-gabc', false],
  ];
  for (const [asked, told, expected] of versions)
    it(`${told} ${expected ? 'is' : 'is not'} ${asked}`, () => assert.equal(keepsVersion(asked, told), expected));

  it('keeps the options of our table if the help has too many', () => {
    const help = [
      'usage: tool',
      ...Array.from({ length: 900 }, (_, index) => `  -aaa${index} <int> x`),
      '-show_format   show',
      '  -probesize <int64> x',
    ].join('\n');
    const options = optionsOf(help, FFPROBE_OPTIONS);
    assert.equal(options.length, 512);
    assert.ok(options.includes('show_format') && options.includes('probesize'));
    assert.deepEqual(options, options.toSorted());
  });

  it('reads input protocols only', () => {
    assert.deepEqual(protocolsIn('Supported file protocols:\nInput:\n  http\n  file\nOutput:\n  md5\n'), [
      'file',
      'http',
    ]);
    assert.deepEqual(protocolsIn('nothing'), []);
  });
});
