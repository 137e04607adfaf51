/** `login`: asks for a token, or for a sign-in in a browser, tries the token, and keeps it. `logout` removes it. */
import { boundedText } from '../../base/bounded_text.ts';
import { EXIT, Failure, Interrupted, usage } from '../exits.ts';
import { makeApi, pause } from '../api/api_client.ts';
import type { Invocation, Run } from '../command.ts';
import { checkedToken, checkedUrl, readConfig, removeConfig, writeConfig } from '../cli_config.ts';

// Asks on the terminal without showing what is typed; reads stdin to its end where there is no terminal.

const MOST_BYTES = 64 * 1024;
const [ENTER, ENTER_OF_TERMINALS, END, INTERRUPT, ERASE, BACKSPACE] = ['\n', '\r', '\u0004', '\u0003', '\u007f', '\b'];

async function readSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY) return readAll();
  stderr.write(`${question}: `);
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  let text = '';
  try {
    for await (const chunk of stdin as AsyncIterable<string>)
      for (const key of chunk) {
        if (key === ENTER || key === ENTER_OF_TERMINALS || key === END) return text;
        if (key === INTERRUPT) throw new Interrupted();
        text = key === ERASE || key === BACKSPACE ? text.slice(0, -1) : text + key;
        if (text.length > MOST_BYTES) throw usage('the input is too long');
      }
    return text;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}

async function readAll(): Promise<string> {
  const text = (await boundedText(process.stdin, MOST_BYTES))?.trim();
  if (text === undefined) throw usage('stdin: is too long for a token');
  if (text === '') throw usage('stdin: no token');
  return text;
}

// Single sign-on: somebody enters a code in a browser, which may be on another machine.

/** What RFC 8628 adds to the interval where it is too short. */
const SLOWER_S = 5;

async function tokenBySso(url: URL, { text, terminal, signal }: Invocation): Promise<string> {
  const api = makeApi({ access: { url, token: null }, signal, terminal });
  const { issuers } = await api.call('GET auth/sso');
  const names = issuers.map(({ name }) => name);
  if (names.length === 0) throw usage(`${url.origin} has no single sign-on`, 'probeyard login asks for a token');
  const name = text('issuer') ?? (names.length === 1 ? names[0] : undefined);
  if (name === undefined || !names.includes(name)) throw usage(`--issuer: must be one of ${names.join(', ')}`);
  const begun = await api.call('POST auth/sso/:name/device', { params: { name } });
  terminal.note(`open ${begun.url}\nand enter the code ${begun['user-code']}`);
  const body = { 'device-code': begun['device-code'] };
  const until = performance.now() + begun['expires-in'] * 1_000;
  for (let waitS = begun.interval; performance.now() < until;) {
    await pause(waitS * 1_000, signal);
    const answer = await api.call('POST auth/sso/:name/token', { params: { name }, body });
    if (answer.token !== undefined) {
      terminal.note(`signed in as ${answer.email}; the token ends at ${answer.expires}`);
      return answer.token;
    }
    if (answer['slow-down']) waitS += SLOWER_S;
  }
  throw new Failure('nobody has entered the code in time', EXIT.unknown, { hint: 'run probeyard login --sso again' });
}

const run: Run = async (invocation) => {
  const { text, has, env, terminal, signal } = invocation;
  const given = text('server') ?? env['PROBEYARD_URL'] ?? (await readConfig(env)).url;
  if (given === undefined)
    throw usage('login: where is the API?', 'probeyard login --server https://probeyard.example.com');
  const url = checkedUrl(given, '--server');
  const local = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  if (url.protocol === 'http:' && !local) terminal.note('warning: over http the token can be read on its way');
  const read = has('sso') ? tokenBySso(url, invocation) : readSecret('API token (it is not shown)');
  const token = checkedToken(await read, 'the token');
  // Somebody who types an address waits for no server to come back.
  const api = makeApi({ access: { url, token }, signal, terminal, patienceMs: 0 });
  const { tools } = await api.call('GET /v1/versions');
  if (!Array.isArray(tools)) throw new Failure(`${url.origin} does not answer like a Probeyard`, EXIT.unknown);
  const path = await writeConfig(env, { url: url.href, token });
  terminal.note(`the token works; it is kept in ${path}, which only you can read`);
  return EXIT.done;
};
export default run;

export const runLogout: Run = async ({ env, terminal }) => {
  const { path, removed } = await removeConfig(env);
  terminal.note(removed ? `removed ${path}; the token stays valid until it is revoked` : `nothing is kept in ${path}`);
  if (env['PROBEYARD_TOKEN']) terminal.note('PROBEYARD_TOKEN is still set');
  return EXIT.done;
};
