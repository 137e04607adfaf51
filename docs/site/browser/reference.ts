/** The API reference: a schema opens where it is named, and an example can be changed and sent. */

const SCHEMA = 'a[href^="#schema-"]';
const MOST_SHOWN = 100_000;

function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** What stands under the item that names the schema; pressed again, it goes. */
function toggleSchema(link: HTMLAnchorElement): void {
  const place = link.closest('li') ?? link.parentElement!;
  const opened = link.getAttribute('aria-expanded') === 'true';
  link.setAttribute('aria-expanded', String(!opened));
  if (opened) {
    [...place.children].find((child) => child.getAttribute('data-schema') === link.hash)?.remove();
    return;
  }
  const schema = document.querySelector(link.hash);
  if (!schema) return;
  const copy = element('div', { className: 'schema' });
  copy.dataset['schema'] = link.hash;
  for (const part of [...schema.children].slice(1)) copy.append(part.cloneNode(true));
  for (const inner of copy.querySelectorAll(SCHEMA)) inner.setAttribute('aria-expanded', 'false');
  place.append(copy);
}

interface Call {
  method: string;
  /** With its query. */
  path: string;
  headers: string;
  body: string | null;
  hasCredential: boolean;
}

const QUOTED = String.raw`'((?:[^']|'\\'')*)'`;
const unquoted = (text: string): string => text.replaceAll(String.raw`'\''`, "'");

/** An example of the page, as docs/tables/api_reference.ts writes them. */
function callOf(curl: string): Call | null {
  const path = /"\$PROBEYARD_URL([^"]*)"/.exec(curl)?.[1];
  if (path === undefined) return null;
  const body = new RegExp(` -d ${QUOTED}`).exec(curl)?.[1];
  const query = [...curl.matchAll(new RegExp(`--data-urlencode ${QUOTED}`, 'g'))].map(([, pair]) => {
    const [name = '', ...value] = unquoted(pair!).split('=');
    return `${name}=${encodeURIComponent(value.join('='))}`;
  });
  return {
    method: / -X (\w+) /.exec(curl)?.[1] ?? (body === undefined ? 'GET' : 'POST'),
    path: query.length === 0 ? path : `${path}?${query.join('&')}`,
    headers: /Content-Type: [^']+/.exec(curl)?.[0] ?? '',
    body: body === undefined ? null : unquoted(body),
    hasCredential: curl.includes('Authorization: '),
  };
}

const headersOf = (text: string): [string, string][] =>
  text
    .split('\n')
    .filter((line) => line.includes(':'))
    .map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name.trim(), value.join(':').trim()];
    });

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** With the token as a variable: what is copied has no secret of the form's own field. */
const curlOf = ({ method, path, headers, body, hasCredential }: Call): string =>
  [
    `curl -sS --globoff -X ${method} ${quoted(location.origin + path)}`,
    ...(hasCredential ? ['-H "Authorization: Bearer $PROBEYARD_TOKEN"'] : []),
    ...headersOf(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === null ? [] : [`-d ${quoted(body)}`]),
  ].join(' \\\n  ');

/** JSON with its lines, other text as it is, and of either no more than a page can show. */
function shown(text: string, type: string): string {
  let said = text;
  if (/\bjson\b/.test(type) && text.length <= MOST_SHOWN)
    try {
      said = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // It is shown as it came.
    }
  return said.length <= MOST_SHOWN
    ? said
    : `${said.slice(0, MOST_SHOWN)}\n… ${said.length - MOST_SHOWN} more characters`;
}

/** Typed once, for all forms of the page. It is nowhere else. */
let token = '';

async function send(call: Call, signal: AbortSignal): Promise<{ status: string; text: string }> {
  const missing = /\$\w+/.exec(call.path)?.[0];
  if (missing !== undefined) return { status: `Replace ${missing} in the path.`, text: '' };
  const headers = new Headers(headersOf(call.headers));
  // A session of the console is used where no token is given; both would be ambiguous.
  if (token !== '') headers.set('Authorization', `Bearer ${token}`);
  const credentials = token === '' ? 'same-origin' : 'omit';
  const start = performance.now();
  const response = await fetch(call.path, { method: call.method, headers, credentials, body: call.body, signal });
  const text = await response.text();
  const took = `${Math.round(performance.now() - start)} ms`;
  return {
    status: `${response.status} ${response.statusText}, ${took}`,
    text: shown(text, response.headers.get('content-type') ?? ''),
  };
}

function field(label: string, input: HTMLInputElement | HTMLTextAreaElement): HTMLLabelElement {
  input.spellcheck = false;
  input.autocomplete = 'off';
  return element('label', {}, label, input);
}

function formOf(call: Call): HTMLFormElement {
  const path = element('input', { value: call.path, required: true });
  const secret = element('input', { type: 'password', value: token });
  const headers = element('textarea', { value: call.headers, rows: 2 });
  const body = element('textarea', {
    value: call.body ?? '',
    rows: Math.min(14, (call.body ?? '').split('\n').length + 1),
  });
  const press = element('button', { textContent: 'Send' });
  const copy = element('button', { type: 'button', textContent: 'Copy as curl' });
  const status = element('p', { role: 'status' });
  const answer = element('pre', { tabIndex: 0, hidden: true });
  const form = element(
    'form',
    { className: 'try' },
    field(`Path and query (${call.method})`, path),
    ...(call.hasCredential ? [field('API token; without one, your session of the console is used', secret)] : []),
    field('Headers, one in each line', headers),
    ...(call.body === null ? [] : [field('Body', body)]),
    element('div', {}, press, ' ', copy),
    status,
    answer,
  );
  const entered = (): Call => ({
    ...call,
    path: path.value,
    headers: headers.value,
    body: call.body === null ? null : body.value,
  });
  let running: AbortController | undefined;
  const run = async (): Promise<void> => {
    token = secret.value;
    running = new AbortController();
    press.textContent = 'Stop';
    status.textContent = 'Sent …';
    answer.hidden = true;
    try {
      const { status: line, text } = await send(entered(), running.signal);
      status.textContent = line;
      answer.textContent = text;
      answer.hidden = text === '';
    } catch (error) {
      status.textContent = running.signal.aborted ? 'Stopped.' : `Not sent: ${(error as Error).message}`;
    }
    running = undefined;
    press.textContent = 'Send';
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (running) running.abort();
    else void run();
  });
  copy.addEventListener('click', () => {
    navigator.clipboard.writeText(curlOf(entered())).then(
      () => (status.textContent = 'Copied.'),
      () => (status.textContent = 'Not copied.'),
    );
  });
  return form;
}

function addTry(code: HTMLElement): void {
  const call = callOf(code.textContent);
  if (!call) return;
  const button = element('button', { type: 'button', textContent: 'Try', ariaExpanded: 'false' });
  let form: HTMLFormElement | undefined;
  button.addEventListener('click', () => {
    if (form) form.hidden = !form.hidden;
    else {
      form = formOf(call);
      code.parentElement!.after(form);
    }
    button.ariaExpanded = String(!form.hidden);
    if (!form.hidden) form.querySelector('input')!.focus();
  });
  code.parentElement!.append(button);
}

/** After the buttons that copy code: those of the reference stand beside them. */
export function enhanceReference(main: HTMLElement): void {
  for (const link of main.querySelectorAll(SCHEMA)) link.setAttribute('aria-expanded', 'false');
  main.addEventListener('click', (event) => {
    const link = (event.target as HTMLElement).closest<HTMLAnchorElement>(SCHEMA);
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    toggleSchema(link);
  });
  for (const code of main.querySelectorAll<HTMLElement>('.code > pre')) addTry(code);
}
