/** Schemathesis, pinned, in its own virtual environment in the cache. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

export const VERSION = '4.32.5';
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'unsupported_method',
  'ignored_auth',
];

/** Its path; null if it is unavailable, with the reason printed. The first call takes about 20 s. */
export function schemathesis(): string | null {
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'probeyard', 'schemathesis', VERSION);
  const program = join(folder, 'bin', 'schemathesis');
  if (existsSync(program) && spawnSync(program, ['--version']).status === 0) return program;
  mkdirSync(folder, { recursive: true });
  for (const [command, args] of [
    ['python3', ['-m', 'venv', folder]],
    [join(folder, 'bin', 'pip'), ['install', '--quiet', '--disable-pip-version-check', `schemathesis==${VERSION}`]],
  ] as const) {
    const made = spawnSync(command, args, { encoding: 'utf8' });
    if (made.status === 0) continue;
    console.log(
      `        schemathesis ${VERSION} cannot be had: ${command}: ` +
        `${made.error?.message ?? made.stderr.trim().split('\n').at(-1)}`,
    );
    return null;
  }
  return program;
}

export interface FuzzSettings {
  url: string;
  token: string;
  seed: number;
  /** The maximum per operation. */ examples: number;
  phases: string;
  include?: string[];
  /** One: Python 3.11 cannot parse source in two threads at once, which schemathesis does. */ workers?: number;
}
export interface Fuzzed {
  ok: boolean;
  cases: number;
  /** The number of operations. */ operations: number;
  text: string;
  statuses: Record<string, number>;
}

interface Line {
  ScenarioFinished?: {
    recorder?: { label?: string; interactions?: Record<string, { response?: { status_code: number } | null }> };
  };
}

/** Counts the responses by status, from the events of the run. */
function answersIn(file: string): Pick<Fuzzed, 'statuses' | 'operations'> {
  const statuses: Record<string, number> = {};
  const operations = new Set<string>();
  for (const line of existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []) {
    if (line === '') continue;
    const recorder = (JSON.parse(line) as Line).ScenarioFinished?.recorder;
    for (const { response } of Object.values(recorder?.interactions ?? {})) {
      operations.add(recorder?.label ?? '');
      const status = response ? String(response.status_code) : 'none';
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  }
  return { statuses, operations: operations.size };
}

export async function runSchemathesis(
  program: string,
  { url, token, seed, examples, phases, include = [], workers = 1 }: FuzzSettings,
  onText: (text: string) => void = () => {},
): Promise<Fuzzed> {
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-fuzz-'));
  const report = join(folder, 'events.ndjson');
  try {
    const args = [
      'run',
      `${url}/openapi.json`,
      '--header',
      `Authorization: Bearer ${token}`,
      '--checks',
      CHECKS.join(','),
      '--phases',
      phases,
      '--max-examples',
      String(examples),
      '--seed',
      String(seed),
      '--workers',
      String(workers),
      '--continue-on-failure',
      '--no-color',
      '--generation-database',
      'none',
      '--warnings',
      'off',
      '--report',
      'ndjson',
      '--report-ndjson-path',
      report,
      '--request-timeout',
      '30',
      '--suppress-health-check',
      'all',
      ...include,
    ];
    const child = spawn('nice', ['-n', '19', program, ...args], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1', COLUMNS: '160' },
    });
    process.once('exit', () => child.kill('SIGKILL'));
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        onText(piece);
      });
    const code = await new Promise<number | null>((resolve) => {
      child.once('close', resolve);
    });
    const { statuses, operations } = answersIn(report);
    return {
      ok: code === 0,
      operations,
      cases: Object.values(statuses).reduce((sum, count) => sum + count, 0),
      text,
      statuses,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
