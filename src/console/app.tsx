/** The frame around every page: who is signed in, the navigation, and where the focus goes. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { User } from '../api_types.ts';
import { useCell } from './cell.ts';
import { PAGES, type Page } from './pages.ts';
import { Dialog } from './parts/dialog.tsx';
import { Empty, Refused } from './parts/states.tsx';
import { Stranger } from './parts/stranger.tsx';
import { go, hrefOf, match, usePlace } from './router.ts';
import { may, readSession, session, signOut } from './session.ts';
import { SignInForm } from './views/sign_in.tsx';

function pageAt(path: string): { page: Page; params: Record<string, string> } | null {
  for (const page of PAGES) {
    const params = match(page.path, path);
    if (params) return { page, params };
  }
  return null;
}

/** The page's own heading: it takes the focus when the page changes, so that a screen reader starts there. */
function Heading({ title }: { title: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const first = useRef(true);
  useEffect(() => {
    document.title = `${title} · Probeyard`;
    if (!first.current) heading.current?.focus();
    first.current = false;
  }, [title]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {title}
    </h1>
  );
}

const isListed = (user: User, listed: Page['listed']): boolean =>
  listed !== undefined && may(user, listed.permission) && (listed.unless === undefined || !may(user, listed.unless));

function Navigation({ user, path }: { user: User; path: string }) {
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);
  return (
    <nav aria-label="Main">
      <button type="button" class="menu" aria-expanded={open} aria-controls="pages" onClick={() => setOpen(!open)}>
        Menu
      </button>
      <ul id="pages" class={open ? 'open' : undefined}>
        {PAGES.filter(({ listed }) => isListed(user, listed)).map((page) => (
          <li key={page.path}>
            <a
              href={hrefOf(page.path)}
              aria-current={page.path === path || path.startsWith(`${page.path}/`) ? 'page' : undefined}
            >
              {page.title}
            </a>
          </li>
        ))}
        <li>
          <a href="/docs/">Documentation</a>
        </li>
      </ul>
    </nav>
  );
}

function Frame({ user, path, children }: { user: User | null; path: string; children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#content" onClick={() => document.querySelector<HTMLElement>('#content')?.focus()}>
        Skip to the content
      </a>
      <header>
        <a class="name" href={hrefOf('/')}>
          Probeyard
        </a>
        {user && <Navigation user={user} path={path} />}
        {user && (
          <span class="who">
            <Stranger text={user.email} />
            <button type="button" class="small" onClick={() => void signOut()}>
              Sign out
            </button>
          </span>
        )}
      </header>
      <main id="content" tabIndex={-1} class={user ? undefined : 'narrow'}>
        {children}
      </main>
    </>
  );
}

/** A session that ended in the middle of work: the page stays as it is behind the question. */
function SignInAgain({ user }: { user: User }) {
  return (
    <Dialog title="Your session has ended">
      <p>Sign in again to continue. What you have entered on this page stays.</p>
      <SignInForm email={user.email} />
      <p class="actions">
        <button type="button" class="link" onClick={() => location.assign('/app/sign-in')}>
          Use another account
        </button>
      </p>
    </Dialog>
  );
}

export function App() {
  const { path, query } = usePlace();
  const { state, user, failure } = useCell(session);
  const found = pageAt(path);
  const needsAccount = !found?.page.open;

  useEffect(() => {
    if (!needsAccount || state !== 'signed-out') return;
    const back = hrefOf(path, query).slice('/app'.length);
    go('/sign-in', new URLSearchParams(back === '/' ? {} : { to: back }), true);
  }, [needsAccount, state, path]);

  if (!found)
    return (
      <Frame user={user} path={path}>
        <Heading title="Not found" />
        <Empty title="There is no such page">
          <a href={hrefOf('/')}>Go to the start</a>
        </Empty>
      </Frame>
    );

  const { page, params } = found;
  const View = page.view;
  if (page.open)
    return (
      <Frame user={null} path={path}>
        <Heading title={page.title} />
        <View key={path} params={params} />
      </Frame>
    );
  return (
    <Frame user={user} path={path}>
      <Heading title={page.title} />
      {!user && failure && <Refused failure={failure} again={() => void readSession()} />}
      {user && <View key={path} params={params} />}
      {user && state === 'ended' && <SignInAgain user={user} />}
    </Frame>
  );
}
