/** The console: one page, drawn by what its address says, in a frame that has the navigation and moves the focus. */
import { type ComponentChildren, Fragment, render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { User } from '../api_types.ts';
import { useCell } from './cell.ts';
import { PAGES, type Page } from './pages.ts';
import { Dialog } from './parts/dialog.tsx';
import { Empty, Refused } from './parts/states.tsx';
import { Stranger } from './parts/values.tsx';
import { go, hrefOf, match, startRouter, usePlace } from './router.ts';
import { may, readSession, session, signOut } from './session.ts';
import { SignInForm } from './views/entrance.tsx';

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

const isListed = (user: User, { listed }: Page): boolean =>
  listed !== undefined && may(user, listed.permission) && (listed.unless === undefined || !may(user, listed.unless));

interface LinkProps {
  href: string;
  title: string;
  icon: string;
  here?: boolean;
}

const NavigationLink = ({ href, title, icon, here = false }: LinkProps) => (
  <li>
    <a href={href} aria-current={here ? 'page' : undefined}>
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <path d={icon} fill="none" stroke="currentColor" stroke-width="1.4" stroke-linejoin="round" />
      </svg>
      {title}
    </a>
  </li>
);

/** On narrow screens a drawer: the browser closes it by Escape and by a press beside it. */
function Navigation({ user, path }: { user: User; path: string }) {
  const drawer = useRef<HTMLDivElement>(null);
  useEffect(() => drawer.current?.hidePopover(), [path]);
  const groups = Map.groupBy(
    PAGES.filter((page) => isListed(user, page)),
    ({ listed }) => listed!.group,
  );
  return (
    <nav aria-label="Main">
      <button type="button" class="menu" popovertarget="pages">
        Menu
      </button>
      <div id="pages" ref={drawer} popover="auto">
        {[...groups].map(([group, pages]) => (
          <Fragment key={group}>
            <span class="group" id={`group-${group}`}>
              {group}
            </span>
            <ul aria-labelledby={`group-${group}`}>
              {pages.map((page) => (
                <NavigationLink
                  key={page.path}
                  href={hrefOf(page.path)}
                  title={page.title}
                  icon={page.listed!.icon}
                  here={page.path === path || path.startsWith(`${page.path}/`)}
                />
              ))}
            </ul>
          </Fragment>
        ))}
        <ul aria-label="Help">
          <NavigationLink href="/docs/" title="Documentation" icon="M4 2h8v12H4zM6.5 5h3M6.5 8h3" />
        </ul>
      </div>
    </nav>
  );
}

const Icon = () => (
  <svg viewBox="0 0 16 16" width="24" height="24" aria-hidden="true">
    <rect width="16" height="16" rx="3" fill="#0b6b5c" />
    <path d="M3 11V8M6 11V4M9 11V6M12 11V9" stroke="#fff" stroke-width="1.6" stroke-linecap="round" />
  </svg>
);

function Frame({ user, path, children }: { user: User | null; path: string; children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#content" onClick={() => document.querySelector<HTMLElement>('#content')?.focus()}>
        Skip to the content
      </a>
      <header>
        <a class="name" href={hrefOf('/')}>
          <Icon />
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
      <SignInForm email={user.email} stays />
      <p class="actions">
        <button type="button" class="link" onClick={() => location.assign('/app/sign-in')}>
          Use another account
        </button>
      </p>
    </Dialog>
  );
}

function App() {
  const { path, query } = usePlace();
  const { state, user, failure } = useCell(session);
  const found = pageAt(path);
  const page = found?.page;
  const needsAccount = !page?.open;

  useEffect(() => {
    if (!needsAccount || state !== 'signed-out') return;
    const back = hrefOf(path, query).slice('/app'.length);
    go('/sign-in', new URLSearchParams(back === '/' ? {} : { to: back }), true);
  }, [needsAccount, state, path]);

  const list = PAGES.find((one) => path.startsWith(`${one.path}/`));
  return (
    <Frame user={page?.open ? null : user} path={path}>
      <Heading title={page?.title ?? 'Not found'} />
      {!page && (
        <Empty title="There is no such page">
          <a href={hrefOf('/')}>Go to the start</a>
        </Empty>
      )}
      {page && needsAccount && !user && failure && <Refused failure={failure} again={() => void readSession()} />}
      {page && user && list && (
        <p>
          <a href={hrefOf(list.path)}>All {list.title.toLowerCase()}</a>
        </p>
      )}
      {found && (found.page.open || user) && <found.page.view key={path} params={found.params} />}
      {page && needsAccount && user && state === 'ended' && <SignInAgain user={user} />}
    </Frame>
  );
}

startRouter();
void readSession();
render(<App />, document.querySelector('#app')!);
