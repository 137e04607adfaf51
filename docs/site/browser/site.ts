/** The search, and buttons that copy code. Every page can be read without this script. */
import { makeSearch, type Found, type SearchIndex } from '../search.ts';
import { enhanceReference } from './reference.ts';

const input = document.querySelector<HTMLInputElement>('#search')!;
const list = document.querySelector<HTMLUListElement>('#found')!;
const said = document.querySelector<HTMLElement>('#said')!;

let index: Promise<(query: string) => Found[]> | undefined;
const search = (): Promise<(query: string) => Found[]> =>
  (index ??= fetch(input.dataset['index']!).then(async (response) => {
    if (!response.ok) throw new Error(`the index: HTTP ${response.status}`);
    return makeSearch((await response.json()) as SearchIndex);
  }));

let active = -1;
const options = (): HTMLElement[] => [...list.querySelectorAll<HTMLElement>('[role=option]')];

function choose(next: number): void {
  const all = options();
  active = all.length === 0 ? -1 : (next + all.length) % all.length;
  for (const [number, one] of all.entries()) one.setAttribute('aria-selected', String(number === active));
  const chosen = all[active];
  if (chosen) {
    input.setAttribute('aria-activedescendant', chosen.id);
    chosen.scrollIntoView({ block: 'nearest' });
  } else input.removeAttribute('aria-activedescendant');
}

/** Text for screen readers alone, or for all: where no list is shown. */
function say(text: string, toAll = false): void {
  said.textContent = text;
  said.classList.toggle('shown', toAll);
}

function close(): void {
  list.hidden = true;
  said.classList.remove('shown');
  input.setAttribute('aria-expanded', 'false');
  choose(-1);
}

function shownOption({ address, title, heading, description }: Found, number: number): HTMLElement {
  const item = document.createElement('li');
  item.id = `found-${number}`;
  item.setAttribute('role', 'option');
  item.dataset['address'] = address;
  const name = document.createElement('b');
  name.textContent = heading === '' ? title : heading;
  item.append(name, ` ${heading === '' ? description : title}`);
  return item;
}

const go = (item: HTMLElement | undefined): void => {
  const address = item?.dataset['address'];
  if (address === undefined) return;
  close();
  location.assign(address);
};

async function update(): Promise<void> {
  const query = input.value;
  if (query.trim() === '') {
    say('');
    close();
    return;
  }
  let found: Found[];
  try {
    found = (await search())(query);
  } catch {
    index = undefined;
    close();
    say('The search cannot be loaded.', true);
    return;
  }
  // A later key was faster.
  if (query !== input.value) return;
  list.replaceChildren(...found.map(shownOption));
  list.hidden = found.length === 0;
  input.setAttribute('aria-expanded', String(found.length > 0));
  if (found.length === 0)
    say(`No result for “${query.trim()}”. Try another word; the first page lists all pages.`, true);
  else say(`${found.length} found.`);
  choose(found.length > 0 ? 0 : -1);
}

input.addEventListener('input', () => void update());
input.addEventListener('focus', () => void search().catch(() => {}));
input.addEventListener('keydown', (event) => {
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault();
    choose(active + (event.key === 'ArrowDown' ? 1 : -1));
  } else if (event.key === 'Enter') {
    event.preventDefault();
    go(options()[active]);
  } else if (event.key === 'Escape') close();
});
list.addEventListener('pointerdown', (event) => {
  event.preventDefault();
  go((event.target as HTMLElement).closest<HTMLElement>('[role=option]') ?? undefined);
});
input.addEventListener('blur', close);
document.addEventListener('keydown', (event) => {
  const target = event.target as HTMLElement;
  if (event.key !== '/' || event.ctrlKey || event.metaKey || target.matches('input, textarea')) return;
  event.preventDefault();
  input.focus();
});

for (const code of document.querySelectorAll<HTMLElement>('main pre')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(code.textContent).then(
      () => (button.textContent = 'Copied'),
      () => (button.textContent = 'Not copied'),
    );
  });
  const box = document.createElement('div');
  box.className = 'code';
  code.replaceWith(box);
  box.append(code, button);
}

if (document.querySelector('main .operation')) enhanceReference(document.querySelector('main')!);

/** A closed part that a link leads to is opened. */
function openTarget(): void {
  const target = location.hash === '' ? null : document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
addEventListener('hashchange', openTarget);
openTarget();
