import assert from 'node:assert/strict';
import { parse, stringify } from 'yaml';
import {
  commandFor,
  type Entry,
  entryName,
  isFor,
  parseCatalog,
  readCatalog,
  sourceFor,
} from '../../images/catalog.ts';
import { ImageError } from '../../images/image_error.ts';

type Change = (catalog: { tools: Record<string, unknown>[] } & Record<string, unknown>) => void;

const sound = (): string =>
  stringify({
    tools: [
      {
        tool: 'ffprobe',
        version: '9.0',
        exact: '9.0.2',
        latest: true,
        command: ['{root}/bin/ffprobe'],
        license: 'GPL-3.0-or-later',
        source: {
          kind: 'npm',
          package: 'p',
          version: '1.0.0',
          integrity: 'sha512-AAAA',
          files: { 'bin/ffprobe': 'package/ffprobe' },
        },
        built: { where: 'here', when: '2026-11-21', startup_ms: 12, size_mb: 24 },
      },
    ],
    proofs: [],
  });

function changed(change: Change): string {
  const catalog = parse(sound()) as Parameters<Change>[0];
  change(catalog);
  return stringify(catalog);
}

const first = (catalog: Parameters<Change>[0]) =>
  catalog.tools[0] as Record<string, unknown> & { source: Record<string, unknown>; built: Record<string, unknown> };

describe('catalog of tool versions', () => {
  it('lists every version that callers may request, and one latest of each tool', () => {
    const { tools } = readCatalog();
    const versions = (tool: string) => tools.filter((entry) => entry.tool === tool).map(({ version }) => version);
    assert.deepEqual(versions('ffprobe'), [
      '9.0',
      '7.1',
      '7.0',
      '6.1',
      '6.0',
      '5.1',
      '5.0',
      '4.4',
      '4.3',
      '4.2',
      '4.1',
      '4.0',
      '3.4',
      '3.3',
    ]);
    assert.deepEqual(versions('mediainfo'), ['26.10', '24.06', '23.11', '22.12', '21.09', '20.09', '19.09', '18.12']);
    assert.deepEqual(
      tools.filter(({ latest }) => latest).map(({ version }) => version),
      ['9.0', '26.10', '0.90.22', '7.1'],
    );
  });

  it('sources have a checksum or a signature, except for three known versions', () => {
    const unsure = readCatalog().tools.flatMap(({ tool, version, source }: Entry) =>
      source.kind === 'upstream-source'
        ? source.tarballs
            .filter(({ sha256, signature }) => sha256 === 'unknown' && signature === undefined)
            .map(() => `${tool} ${version}`)
        : [],
    );
    // These have neither. The build refuses them until a checksum is added, which needs access to the releases.
    assert.deepEqual([...new Set(unsure)], ['mediainfo 23.11', 'mediainfo 22.12', 'mediainfo 18.12']);
  });

  it('for arm64 has another source or the same, and lacks what cannot be had', () => {
    const { tools } = readCatalog();
    const missing = tools.filter((entry) => entry.built !== 'never' && !isFor(entry, 'arm64')).map(entryName);
    assert.deepEqual(missing, ['ffprobe-4.0', 'c2pa-0.90.22']);
    for (const entry of tools.filter((one) => isFor(one, 'arm64'))) {
      const own = sourceFor(entry, 'arm64');
      assert.equal(own.kind, entry.source.kind);
      if (own.kind === 'maven' && entry.source.kind === 'maven') {
        assert.equal(own.version, entry.source.version);
        assert.notEqual(own.sha256, entry.source.sha256);
      }
      assert.doesNotMatch(commandFor(entry, 'arm64').join(' '), /x86/);
    }
  });

  it('accepts a valid catalog', () => {
    assert.equal(parseCatalog(sound()).tools.length, 1);
  });

  const bad: [string, string, RegExp][] = [
    ['text that is not YAML', 'tools: [', /not YAML/],
    ['no list of tools', 'proofs: []', /must have required property 'tools'/],
    ['an unknown tool', changed((c) => (first(c)['tool'] = 'exiftool')), /exiftool 9\.0: \/tools\/0\/tool/],
    ['an invalid version', changed((c) => (first(c)['version'] = 'newest')), /\/tools\/0\/version must match pattern/],
    [
      'an exact version of another release',
      changed((c) => (first(c)['exact'] = '9.1.0')),
      /ffprobe 9\.0 cannot be 9\.1\.0/,
    ],
    ['an unknown field', changed((c) => (first(c)['colour'] = 'red')), /must NOT have additional properties/],
    [
      'an unknown kind of source',
      changed((c) => (first(c).source['kind'] = 'conda')),
      /source\/kind must be one of maven, npm, wasm, debian, upstream-source, cargo/,
    ],
    [
      'a package without checksum',
      changed((c) => delete first(c).source['integrity']),
      /ffprobe 9\.0: \/tools\/0\/source must have required property 'integrity'/,
    ],
    [
      'a checksum of the wrong form',
      changed((c) => (first(c).source['integrity'] = 'md5-AAAA')),
      /\/source\/integrity must match pattern/,
    ],
    [
      'a command that is not in the image',
      changed((c) => (first(c)['command'] = ['/usr/bin/ffprobe'])),
      /no part of its command starts with \{root\}\//,
    ],
    [
      'a slow start without a reason',
      changed((c) => (first(c).built['startup_ms'] = 41)),
      /starts in 41 ms: above 40 the entry has to say why/,
    ],
    [
      'the same version twice',
      changed((c) => c.tools.push({ ...first(c), latest: false })),
      /ffprobe 9\.0 stands there twice/,
    ],
    [
      'an unknown field for arm64',
      changed((c) => (first(c)['arm64'] = { colour: 'red' })),
      /ffprobe 9\.0: \/tools\/0\/arm64 must NOT have additional properties/,
    ],
    [
      'a checksum of the wrong form for arm64',
      changed((c) => (first(c)['arm64'] = { integrity: 'md5-AAAA' })),
      /\/arm64\/integrity must match pattern/,
    ],
    ['two latest versions', changed((c) => c.tools.push({ ...first(c), version: '8.0', exact: '8.0' })), /both latest/],
    ['no latest version', changed((c) => delete first(c)['latest']), /no version of ffprobe is latest/],
  ];
  for (const [what, yaml, message] of bad) {
    it(`refuses ${what}`, () => {
      assert.throws(
        () => parseCatalog(yaml),
        (error: unknown) => {
          assert.ok(error instanceof ImageError);
          assert.equal(error.code, 'CATALOG_INVALID');
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }
});
