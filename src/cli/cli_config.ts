/** Where the API is and who calls: from the environment, else from the file that `probeyard login` writes. */
import { mkdir, open, rename, unlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { membersOf } from '../base/is_object.ts';
import { jsonIn } from '../base/json_in.ts';
import { usage } from './exits.ts';

export interface Config {
  url?: string;
  token?: string;
}

const configPath = (env: NodeJS.ProcessEnv): string =>
  join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'probeyard', 'config.json');

const OTHERS = 0o077;

/** An empty configuration if there is no file. A file that others can read is refused: it holds a token. */
export async function readConfig(env: NodeJS.ProcessEnv): Promise<Config> {
  const path = configPath(env);
  await using file = await open(path, 'r').catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw usage(`${path}: cannot be read: ${(error as Error).message}`);
  });
  if (!file) return {};
  // Of the opened file: its name may mean another one by now.
  const { mode } = await file.stat();
  if (process.platform !== 'win32' && (mode & OTHERS) !== 0)
    throw usage(`${path}: others can read this file, and it holds a token`, `chmod 600 ${path}`);
  return configOf(await file.readFile('utf8'), path);
}

function configOf(text: string, path: string): Config {
  const value = jsonIn(text);
  if (value === undefined) throw usage(`${path}: is not valid JSON`, 'run probeyard login again');
  const { url, token } = membersOf(value);
  return {
    ...(typeof url === 'string' ? { url } : {}),
    ...(typeof token === 'string' ? { token } : {}),
  };
}

/** Atomic: a reader sees the file before or after, and it is never readable by others. */
export async function writeConfig(env: NodeJS.ProcessEnv, config: Config): Promise<string> {
  const path = configPath(env);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}`;
  {
    await using file = await open(temporary, 'w', 0o600);
    await file.chmod(0o600);
    await file.writeFile(`${JSON.stringify(config, null, 2)}\n`);
  }
  await rename(temporary, path);
  return path;
}

export async function removeConfig(env: NodeJS.ProcessEnv): Promise<{ path: string; removed: boolean }> {
  const path = configPath(env);
  try {
    await unlink(path);
    return { path, removed: true };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { path, removed: false };
    throw usage(`${path}: cannot be removed: ${message}`);
  }
}

/** The address of the API, with a path if it lies below one. */
export function checkedUrl(text: string, from: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw usage(`${from}: must be an http or https address of the API`);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw usage(`${from}: must have no user info, query or fragment`);
  return url;
}

/** A place of the API, which may lie below a path. */
export const addressBelow = (api: URL, path: string): URL => new URL(`${api.pathname.replace(/\/$/, '')}${path}`, api);

export const checkedToken = (text: string, from: string): string => {
  const token = text.trim();
  if (/^[\x21-\x7e]{8,4096}$/.test(token)) return token;
  throw usage(`${from}: is not a token: it has to be one line without spaces`);
};

export interface Access {
  url: URL;
  token: string;
}

export async function accessOf(env: NodeJS.ProcessEnv): Promise<Access> {
  const [url, token] = [env['PROBEYARD_URL'] || undefined, env['PROBEYARD_TOKEN'] || undefined];
  // A token of the file is not sent to an address of the environment that it was not made for.
  const kept = url === undefined || token === undefined ? await readConfig(env) : {};
  const address = url ?? kept.url;
  if (address === undefined)
    throw usage('where is the API? PROBEYARD_URL is not set', 'export PROBEYARD_URL=https://…, or run probeyard login');
  const checked = checkedUrl(address, url === undefined ? configPath(env) : 'PROBEYARD_URL');
  const fitting =
    url === undefined || (kept.url !== undefined && URL.canParse(kept.url) && new URL(kept.url).href === checked.href);
  const text = token ?? (fitting ? kept.token : undefined);
  if (text === undefined)
    throw usage('PROBEYARD_TOKEN is not set', 'export PROBEYARD_TOKEN=…, or run probeyard login to keep one');
  return { url: checked, token: checkedToken(text, token === undefined ? configPath(env) : 'PROBEYARD_TOKEN') };
}
