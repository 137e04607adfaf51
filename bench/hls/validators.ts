/** The compared validators. Each returns the faults of a playlist, or none if it considers it valid. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Findings } from '../../src/media/hls/findings.ts';
import { judgePlaylist, decodePlaylist } from '../../src/media/hls/load.ts';
import { parsePlaylist } from '../../src/media/hls/parse.ts';
import { rivals } from './corpus.ts';

export interface Validator {
  name: string;
  judge(bytes: Buffer): string[];
}

export const ours: Validator = {
  name: 'Probeyard',
  judge(bytes) {
    const findings = new Findings();
    const note = findings.in('http://h.example/a.m3u8');
    const playlist = parsePlaylist(
      decodePlaylist(bytes, note),
      { url: 'http://h.example/a.m3u8', base: 'http://h.example/a.m3u8', parameter: () => '' },
      note,
    );
    if (playlist.kind === 'unknown') note('playlist-empty', 1);
    judgePlaylist(playlist, note);
    return findings
      .messages()
      .filter(({ level }) => level === 'must-fix')
      .map(({ code }) => code);
  },
};

const load = async (path: string): Promise<Record<string, unknown>> =>
  (await import(pathToFileURL(join(rivals(), 'node_modules', path)).href)) as Record<string, unknown>;
const caught = (work: () => void): string[] => {
  try {
    work();
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
};

export async function hlsParser(): Promise<Validator> {
  const loaded = await load('hls-parser/index.js');
  const api = (loaded['default'] ?? loaded) as { parse(text: string): unknown; setOptions(options: object): void };
  api.setOptions({ strictMode: true });
  return { name: 'hls-parser (strict)', judge: (bytes) => caught(() => api.parse(bytes.toString())) };
}

export async function m3u8Parser(): Promise<Validator> {
  const loaded = await load('m3u8-parser/dist/m3u8-parser.cjs.js');
  const { Parser } = (loaded['default'] ?? loaded) as {
    Parser: new () => {
      on(event: string, listener: (what: { message: string }) => void): void;
      push(text: string): void;
      end(): void;
    };
  };
  return {
    name: 'm3u8-parser (warnings)',
    judge(bytes) {
      const warned: string[] = [];
      const parser = new Parser();
      parser.on('warn', ({ message }) => warned.push(message));
      const broken = caught(() => {
        parser.push(bytes.toString());
        parser.end();
      });
      return [...warned, ...broken];
    },
  };
}

export async function m3u8parse(): Promise<Validator> {
  const loaded = await load('m3u8parse/lib/parser.js');
  const Parser = loaded['M3U8Parser'] as new () => { feed(line: string): void; finalize(): unknown };
  return {
    name: 'm3u8parse',
    judge: (bytes) =>
      caught(() => {
        const parser = new Parser();
        for (const line of bytes.toString().split(/\r?\n/)) parser.feed(line);
        parser.finalize();
      }),
  };
}
