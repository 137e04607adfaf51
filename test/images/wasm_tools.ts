/** The versions of MediaInfo that are compiled from WebAssembly, as far as their images are in the cache. */
import { cachedTools } from '../../images/cached.ts';
import type { Entry } from '../../images/catalog.ts';
import { attempt, type CommandOptions, type CommandResult } from '../../images/command.ts';
import { unpackedCommand } from '../../images/unpacked_tool.ts';

export type Run = (args: readonly string[], options?: CommandOptions) => Promise<CommandResult>;

const tools = (await cachedTools()).filter(({ entry }) => entry.source.kind === 'wasm');

/** `tests` for each version, or a skipped one that says how to get its image. */
export function forEachWasmTool(tests: (entry: Entry, run: Run, command: readonly string[]) => void): void {
  for (const { entry, image } of tools)
    describe(`version ${entry.version}`, () => {
      if (image === undefined)
        it.skip(`skipped: its image is not built here (npm exec -- node images/build.ts mediainfo-${entry.version})`);
      else {
        const command = unpackedCommand(entry, image);
        tests(entry, runnerOf(command), command);
      }
    });
}

function runnerOf([program = '', ...before]: readonly string[]): Run {
  return (args, options) => attempt(program, [...before, ...args], { timeoutMs: 30_000, ...options });
}
