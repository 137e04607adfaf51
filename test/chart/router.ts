/** nginx with the router of docs/operating/cells, in front of servers of a test. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetchedProgram } from '../debian_program.ts';
import { freePort } from '../free_port.ts';
import { until } from '../until.ts';
import { CHART } from './render.ts';

export const NGINX = { name: 'nginx-light', program: 'usr/sbin/nginx' };

export const ROUTER = readFileSync(join(CHART, '../../docs/operating/cells/nginx.conf'), 'utf8');

/** Whose paths are those of an installation otherwise. */
const FOLDERS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => resolve(false)).on('connect', () => resolve(true));
    socket.on('connect', () => socket.destroy());
  });

export interface Router {
  port: number;
  stop(): Promise<void>;
}

/** `change`: of the configuration, as an operator changes it. Undefined if there is no nginx here. */
export async function startRouter(change: (config: string) => string): Promise<Router | undefined> {
  const root = await fetchedProgram(NGINX);
  if (root === undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'router-'));
  const port = await freePort();
  const own = [...FOLDERS.map((name) => `${name}_temp_path ${folder}/${name};`), 'access_log off;'].join(' ');
  const config = join(folder, 'nginx.conf');
  await writeFile(
    config,
    change(ROUTER).replace('http {', `http { ${own}`).replace('listen 8080', `listen 127.0.0.1:${port}`),
  );
  const options = `daemon off; master_process off; pid ${folder}/pid; error_log stderr;`;
  const nginx = spawn(join(root, NGINX.program), ['-p', folder, '-c', config, '-g', options], { stdio: 'inherit' });
  const ended = new Promise((resolve) => {
    nginx.once('exit', resolve);
  });
  const stop = async (): Promise<void> => {
    nginx.kill();
    await ended;
    await rm(folder, { recursive: true });
  };
  await until('nginx listens', () => answers(port), 10_000).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { port, stop };
}
