/** The catalog of tool versions: images/catalog.yaml, typed and validated. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import Type, { type Static } from 'typebox';
import { parse } from 'yaml';
import { ARCHITECTURES, type Architecture, USUAL } from './architecture.ts';
import { IMAGE_TOOLS, type ImageTool } from '../src/media/tools/table.ts';
import { ImageError } from './image_error.ts';

const text = (options: object = {}) => Type.String({ minLength: 1, ...options });
const strict = { additionalProperties: false };
const sha256 = text({ pattern: '^[0-9a-f]{64}$' });

const MavenSource = Type.Object(
  {
    kind: Type.Literal('maven'),
    package: text({ pattern: '^[^:]+:[^:]+$' }),
    version: text(),
    classifier: text(),
    /** Folder inside the archive with the program and its libraries. */
    folder: text(),
    /** The program, if its name differs from the tool's. */
    program: Type.Optional(text()),
    sha256,
  },
  strict,
);

const NpmSource = Type.Object(
  {
    kind: Type.Literal('npm'),
    package: text(),
    version: text(),
    /** Of the tarball, as stated by the registry. */
    integrity: text({ pattern: '^sha512-' }),
    /** Files inside the tarball, by their path in the image. */
    files: Type.Record(Type.String(), text()),
  },
  strict,
);

/** A module of an npm package, compiled with the driver in images/tools/mediainfo-wasm. */
const WasmSource = Type.Object(
  {
    kind: Type.Literal('wasm'),
    package: text(),
    version: text(),
    /** Of the tarball, as stated by the registry. */
    integrity: text({ pattern: '^sha512-' }),
    /** The module, by its path inside the tarball. */
    module: text(),
  },
  strict,
);

const DebianSource = Type.Object(
  {
    kind: Type.Literal('debian'),
    suite: text(),
    /** Exact versions of the essential packages. Their dependencies come from the suite, verified by its signature. */
    packages: Type.Array(Type.Object({ name: text(), version: text(), sha256 }, strict), { minItems: 1 }),
    /** The program, as a path in the unpacked packages. */
    program: text(),
  },
  strict,
);

const Tarball = Type.Object(
  {
    name: text(),
    url: text({ format: 'https' }),
    /** `unknown` if we could not compute it. The signature is then required, and without one the build refuses it. */
    sha256: Type.Union([sha256, Type.Literal('unknown')]),
    /** Detached OpenPGP signature, checked against the key beside the recipe. */
    signature: Type.Optional(text({ format: 'https' })),
    /** The same file, unmodified, in a Debian source package. */
    debian: Type.Optional(
      Type.Object({ package: text(), suites: Type.Array(text(), { minItems: 1 }), file: text() }, strict),
    ),
  },
  strict,
);
export type Tarball = Static<typeof Tarball>;

const UpstreamSource = Type.Object(
  {
    kind: Type.Literal('upstream-source'),
    recipe: Type.Union([Type.Literal('ffmpeg'), Type.Literal('mediainfo')]),
    tarballs: Type.Array(Tarball, { minItems: 1 }),
  },
  strict,
);
export type UpstreamSource = Static<typeof UpstreamSource>;

/** Our program around a library from crates.io, whose checksums are in the recipe's Cargo.lock. */
const CargoSource = Type.Object({ kind: Type.Literal('cargo'), recipe: Type.Literal('c2pa') }, strict);

/** Our C program in images/tools/<recipe>/main.c, compiled static with libc alone. */
const CSource = Type.Object({ kind: Type.Literal('c'), recipe: text({ pattern: '^[a-z][a-z0-9_]*$' }) }, strict);

const Source = Type.Union([MavenSource, NpmSource, WasmSource, DebianSource, UpstreamSource, CargoSource, CSource]);
export type Source = Static<typeof Source>;
export type SourceOf<K extends Source['kind']> = Extract<Source, { kind: K }>;

const Built = Type.Object(
  {
    where: text(),
    when: text({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }),
    startup_ms: Type.Number({ minimum: 0 }),
    size_mb: Type.Number({ minimum: 0 }),
  },
  strict,
);

const Entry = Type.Object(
  {
    tool: Type.Unsafe<ImageTool>({ type: 'string', enum: IMAGE_TOOLS }),
    /** The name that callers use. */
    version: text({ pattern: '^\\d+\\.\\d+(\\.\\d+)?$' }),
    /** The version that the program itself reports. */
    exact: text({ pattern: '^\\d+(\\.\\d+)+$' }),
    latest: Type.Optional(Type.Boolean()),
    /** `{root}` is the mount point of the image. */
    command: Type.Array(text(), { minItems: 1 }),
    license: text(),
    note: Type.Optional(text()),
    source: Source,
    /** What differs in the source for arm64. Without it there is no image for arm64. */
    arm64: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    built: Type.Union([Built, Type.Literal('never')]),
    /** Why it takes longer than 40 ms to start. */
    slow: Type.Optional(text()),
  },
  strict,
);
export type Entry = Static<typeof Entry>;

const Catalog = Type.Object(
  {
    tools: Type.Array(Entry, { minItems: 1 }),
    /** Upstream releases on which the source recipes are proven, whether or not an entry is built from them. */
    proofs: Type.Array(Type.Object({ tool: text(), exact: text(), source: UpstreamSource }, strict)),
  },
  strict,
);
export type Catalog = Static<typeof Catalog>;

const ajv = new Ajv({ allErrors: false, strict: false, discriminator: false });
ajv.addFormat('https', /^https:\/\/[^\s/]+\/\S+$/);
const check = ajv.compile<Catalog>(Catalog);
const checkSource: Record<string, ReturnType<typeof ajv.compile>> = {
  maven: ajv.compile(MavenSource),
  npm: ajv.compile(NpmSource),
  wasm: ajv.compile(WasmSource),
  debian: ajv.compile(DebianSource),
  'upstream-source': ajv.compile(UpstreamSource),
  cargo: ajv.compile(CargoSource),
  c: ajv.compile(CSource),
};

export const catalogFile = join(import.meta.dirname, 'catalog.yaml');
export const STARTUP_LIMIT_MS = 40;

export function readCatalog(file = catalogFile): Catalog {
  return parseCatalog(readFileSync(file, 'utf8'));
}

export function parseCatalog(yaml: string): Catalog {
  let data: unknown;
  try {
    data = parse(yaml);
  } catch (error) {
    throw invalid(`not YAML: ${(error as Error).message.split('\n')[0]}`);
  }
  checkSources(data);
  if (!check(data)) {
    const [first] = check.errors ?? [];
    throw invalid(`${nameAt(data, first?.instancePath)}${first?.instancePath ?? ''} ${first?.message ?? 'is wrong'}`);
  }
  checkWhole(data);
  return data;
}

/**
 * Validates the branch that `kind` names separately, because a union would only report that none of its branches
 * matches.
 */
function checkSources(data: unknown): void {
  const tools = (data as { tools?: unknown } | null)?.tools;
  if (!Array.isArray(tools)) return;
  tools.forEach((entry: { source?: { kind?: string }; arm64?: object } | null, index) => {
    const kind = entry?.source?.kind ?? '';
    const branch = checkSource[kind];
    const where = nameAt(data, `/tools/${index}`);
    if (!branch)
      throw invalid(`${where}/tools/${index}/source/kind must be one of ${Object.keys(checkSource).join(', ')}`);
    const sources: [string, object | undefined][] = [['source', entry?.source]];
    if (entry?.arm64 !== undefined) sources.push(['arm64', { ...entry.source, ...entry.arm64 }]);
    for (const [name, source] of sources) {
      if (branch(source)) continue;
      const [first] = branch.errors ?? [];
      throw invalid(`${where}/tools/${index}/${name}${first?.instancePath ?? ''} ${first?.message ?? 'is wrong'}`);
    }
  });
}

function checkWhole(catalog: Catalog): void {
  const seen = new Set<string>();
  const latest = new Map<string, string>();
  for (const { tool, version, exact, latest: isLatest, command, built, slow } of catalog.tools) {
    const name = `${tool} ${version}`;
    if (seen.has(name)) throw invalid(`${name} stands there twice`);
    seen.add(name);
    if (exact !== version && !exact.startsWith(`${version}.`)) throw invalid(`${name} cannot be ${exact}`);
    if (!command.some((part) => part.startsWith('{root}/')))
      throw invalid(`${name}: no part of its command starts with {root}/`);
    if (isLatest === true) {
      if (latest.has(tool)) throw invalid(`${name} and ${tool} ${latest.get(tool)} are both latest`);
      latest.set(tool, version);
    }
    if (built !== 'never' && built.startup_ms > STARTUP_LIMIT_MS && slow === undefined) {
      throw invalid(
        `${name} starts in ${built.startup_ms} ms: above ${STARTUP_LIMIT_MS} the entry has to say why (slow)`,
      );
    }
  }
  for (const tool of new Set(catalog.tools.map((entry) => entry.tool))) {
    if (!latest.has(tool)) throw invalid(`no version of ${tool} is latest`);
  }
}

function nameAt(data: unknown, path = ''): string {
  const index = /^\/tools\/(\d+)/.exec(path)?.[1];
  if (index === undefined) return '';
  const entry = (data as { tools: ({ tool?: string; version?: string } | null)[] }).tools[Number(index)];
  return entry?.tool === undefined ? '' : `${entry.tool} ${entry.version ?? ''}: `;
}

function invalid(message: string): ImageError {
  return new ImageError('CATALOG_INVALID', `catalog.yaml: ${message}`);
}

export const isFor = ({ arm64 }: Pick<Entry, 'arm64'>, arch: Architecture): boolean =>
  arch === USUAL || arm64 !== undefined;

export const sourceFor = ({ source, arm64 }: Pick<Entry, 'source' | 'arm64'>, arch: Architecture): Source =>
  arch === USUAL ? source : ({ ...source, ...arm64 } as Source);

/** The loader of the libraries beside a program has another name on each architecture. */
export const commandFor = ({ command }: Pick<Entry, 'command'>, arch: Architecture): string[] =>
  command.map((part) => part.replaceAll(ARCHITECTURES[USUAL].loader, ARCHITECTURES[arch].loader));

/** `ffprobe-9.0`: the name of an entry on command lines and in the cache. */
export function entryName({ tool, version }: Pick<Entry, 'tool' | 'version'>): string {
  return `${tool}-${version}`;
}
