/**
 * OpenVEX documents: what is known of the vulnerabilities of each tool version. They are made from findings.yaml, which
 * is not complete. What is not known is `under_investigation`; nothing is ever called `not_affected`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import { parse } from 'yaml';
import { byNewest } from '../../src/base/version_order.ts';
import type { Entry } from '../catalog.ts';

const Finding = Type.Object(
  {
    /** As Debian calls the source. */
    program: Type.Union([Type.Literal('ffmpeg'), Type.Literal('mediainfo')]),
    id: Type.String({ pattern: String.raw`^CVE-\d{4}-\d+$` }),
    /** Upstream releases that fix it, one of a branch. */
    fixed: Type.Array(Type.String()),
    /** Upstream releases that Debian patched, which therefore had it. */
    seen: Type.Optional(Type.Array(Type.String())),
    /** Versions of Debian's packages that have the fix, whatever the release says. */
    patched: Type.Optional(Type.Array(Type.String())),
    place: Type.String(),
    what: Type.Optional(Type.String()),
    /** The Debian version whose changelog says so. */
    source: Type.String(),
  },
  { additionalProperties: false },
);
export type Finding = Static<typeof Finding>;

const Findings = Type.Object(
  { read: Type.String(), sources: Type.Array(Type.String()), findings: Type.Array(Finding) },
  { additionalProperties: false },
);

export type Status = 'fixed' | 'affected' | 'under_investigation';

const PROGRAMS: Readonly<Record<string, Finding['program']>> = {
  ffprobe: 'ffmpeg',
  qc: 'ffmpeg',
  mediainfo: 'mediainfo',
};
const ISOLATION =
  'Use a newer version of the tool where its answer serves. This one runs in a pod of one tenant, with no network ' +
  'but its source, no identity and no capabilities: docs/isolation.md has the walls, docs/reports/hostility.md what ' +
  'attacks on them achieved (`make hostility`, section "Media: a tool that was taken over").';
const NOTE = 'From the changelogs of Debian. The list is not complete, and linked libraries were not looked at.';

type Findings = Static<typeof Findings>;
let cached: Findings | undefined;

export function readFindings(): Findings {
  cached ??= Value.Parse(Findings, parse(readFileSync(join(import.meta.dirname, 'findings.yaml'), 'utf8')));
  return cached;
}

/** `4.3` of `4.3.2`. */
const branchOf = (version: string): string => version.split('.').slice(0, 2).join('.');

const older = (one: string, other: string): boolean => byNewest(one, other) > 0;

/** What is known of one finding in one release. `debian`: the versions of Debian's packages that the tool is. */
export function statusOf(
  { fixed, seen = [], patched = [] }: Pick<Finding, 'fixed' | 'seen' | 'patched'>,
  exact: string,
  debian: readonly string[] = [],
): Status {
  if (debian.some((version) => patched.includes(version))) return 'fixed';
  if (seen.includes(exact)) return 'affected';
  const same = fixed.find((release) => branchOf(release) === branchOf(exact));
  if (same !== undefined) return older(exact, same) ? 'affected' : 'fixed';
  // The first release of a branch is made from the main line, so later branches have its fixes. A later point release
  // says nothing of them: they may have left the main line before.
  const inMainLine = fixed.some((release) => release === branchOf(release) && older(release, exact));
  return inMainLine ? 'fixed' : 'under_investigation';
}

/** What is recorded of a tool, in any version. */
export function findingsOf(tool: string): Finding[] {
  const program = PROGRAMS[tool];
  return readFindings().findings.filter((finding) => finding.program === program);
}

/** Versions of the Debian packages that a tool is. */
export const debianVersions = ({ source }: Entry): string[] =>
  source.kind === 'debian' ? source.packages.map(({ version }) => version) : [];

export interface Product {
  tool: string;
  version: string;
  /** As the program itself reports it. */
  exact: string;
  /** Package URL of its image. */
  purl: string;
  /** Versions of the Debian packages that it is. */
  debian?: readonly string[];
}

interface Statement {
  vulnerability: { name: string };
  products: { '@id': string; subcomponents: { '@id': string }[] }[];
  status: Status;
  status_notes: string;
  action_statement?: string;
}

/** Undefined where nothing is recorded of the tool, because a document has at least one statement. */
export function documentOf({ tool, version, exact, purl, debian }: Product): object | undefined {
  const { read } = readFindings();
  const statements = findingsOf(tool).map((finding): Statement => {
    const status = statusOf(finding, exact, debian);
    const parts = [finding.what, finding.place === 'unknown' ? undefined : `in a ${finding.place}`];
    const where = parts.filter((part) => part !== undefined).join(', ');
    return {
      vulnerability: { name: finding.id },
      products: [{ '@id': purl, subcomponents: [{ '@id': `pkg:generic/${finding.program}@${exact}` }] }],
      status,
      status_notes: [where, `Debian ${finding.source}`, NOTE].filter((part) => part !== '').join('. '),
      ...(status === 'affected' ? { action_statement: ISOLATION } : {}),
    };
  });
  if (statements.length === 0) return undefined;
  return {
    '@context': 'https://openvex.dev/ns/v0.2.0',
    '@id': `https://probeyard.dev/vex/${tool}-${version}-${read}`,
    author: 'Probeyard',
    role: 'Made from the changelogs of Debian; incomplete',
    timestamp: `${read}T00:00:00Z`,
    version: 1,
    statements,
  };
}
