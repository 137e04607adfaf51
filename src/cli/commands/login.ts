import { makeApi } from '../api/api.ts';
import type { Run } from '../command.ts';
import { checkedToken, checkedUrl, readConfig, writeConfig } from '../config.ts';
import { EXIT, Failure, usage } from '../failure.ts';
import { readSecret } from '../prompt.ts';

const run: Run = async ({ text, env, terminal, signal }) => {
  const given = text('server') ?? env['PROBEYARD_URL'] ?? (await readConfig(env)).url;
  if (given === undefined)
    throw usage('login: where is the API?', 'probeyard login --server https://probeyard.example.com');
  const url = checkedUrl(given, '--server');
  const local = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  if (url.protocol === 'http:' && !local) terminal.note('warning: over http the token can be read on its way');
  const token = checkedToken(await readSecret('API token (it is not shown)'), 'the token');
  const api = makeApi({ access: { url, token }, signal, terminal });
  const { tools } = await api.call('GET /v1/versions');
  if (!Array.isArray(tools)) throw new Failure(`${url.origin} does not answer like a Probeyard`, EXIT.unknown);
  const path = await writeConfig(env, { url: url.href, token });
  terminal.note(`the token works; it is kept in ${path}, which only you can read`);
  return EXIT.done;
};
export default run;
