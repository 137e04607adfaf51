/** Every tool version of the catalog as a program, unpacked once from the images in the cache. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDir } from '../../images/cache.ts';
import { cachedTools } from '../../images/cached.ts';
import { unpackedCommand } from '../../images/unpacked_tool.ts';
import { probeReport } from '../../src/media/tools/probe_report.ts';
import { TOOL_TABLE } from '../../src/media/tools/table.ts';

const exec = promisify(execFile);
export const reportCache = join(cacheDir, 'report');

export interface Program {
  tool: 'ffprobe' | 'mediainfo';
  version: string;
  run(file: string, options?: Record<string, string>): Promise<Printed>;
}
export interface Printed {
  output: string;
  failed: boolean;
}

/** Programs that run on this machine. A version that cannot print its version is skipped. */
export async function programs(): Promise<Program[]> {
  const found: Program[] = [];
  for (const { entry, image } of await cachedTools()) {
    const reader = probeReport.from.find((name) => name === entry.tool);
    if (!image || !reader) continue;
    const [command = '', ...before] = unpackedCommand(entry, image);
    const tool = TOOL_TABLE[entry.tool]!;
    const program: Program = {
      tool: reader,
      version: entry.version,
      async run(file, options = {}) {
        // Reads from paths. The outputs over HTTP were the same.
        const args = [...before, ...tool.args(options, file)].flatMap((arg, index, all) =>
          arg === '-protocol_whitelist' ? [] : all[index - 1] === '-protocol_whitelist' ? [] : [arg],
        );
        const env = { LC_ALL: 'C.UTF-8', HOME: '/tmp' };
        const printed = await exec(command, args, { maxBuffer: 64 << 20, env, timeout: 30_000 }).then(
          ({ stdout, stderr }) => ({ code: 0 as number | null, stdout, stderr }),
          (error: { code?: unknown; stdout?: string; stderr?: string }) => ({
            code: typeof error.code === 'number' ? error.code : null,
            stdout: error.stdout ?? '',
            stderr: error.stderr ?? '',
          }),
        );
        return {
          output: printed.stdout,
          failed: tool.failure({ ...printed, format: 'json', options }) !== undefined,
        };
      },
    };
    const said = await exec(command, [...before, entry.tool === 'ffprobe' ? '-version' : '--Version'], {
      env: { LC_ALL: 'C.UTF-8' },
    }).then(
      () => true,
      (error: { code?: unknown }) => typeof error.code === 'number',
    );
    if (said) found.push(program);
  }
  return found;
}
