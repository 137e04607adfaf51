/** How one gets in: sign-in, alone and in front of a page whose session has ended; sign-up; the first page. */
import { useEffect, useState } from 'preact/hooks';
import type { SignInWays } from '../../api_types.ts';
import { call, isFailure } from '../api/client.ts';
import { useCall } from '../api/use_call.ts';
import { useCell } from '../cell.ts';
import { Check, Field, Form, isChecked, textsIn, NewPassword, textIn } from '../parts/form.tsx';
import { changed, go, hrefOf, usePlace, placeNow } from '../router.ts';
import { readSession, session, may, useUser } from '../session.ts';
import { Stranger } from '../parts/values.tsx';
import { Empty } from '../parts/states.tsx';
import { withAnyToken } from '../parts/with_token.tsx';

/** To another way in, which leads back to the same page afterwards. */
const hrefOfWay = (path: string): string =>
  hrefOf(path, changed(new URLSearchParams(), { to: placeNow().query.get('to') }));

function PasswordForm({ email }: { email: string | undefined }) {
  return (
    <Form
      submit="Sign in"
      work={async (values) => {
        // The answer holds a token and a JWT: neither is kept. The cookie is enough.
        await call('POST auth/sign-in', {
          body: { ...textsIn(values, 'email', 'password'), 'long-term-token': isChecked(values, 'long') },
        });
        await readSession();
      }}
    >
      <Field name="email" label="E-mail address" type="email" autoComplete="username" required value={email} />
      <Field name="password" label="Password" type="password" autoComplete="current-password" required />
      <Check name="long" label="Stay signed in for two weeks" checked />
    </Form>
  );
}

/** In another tab, so that this page stays as it is; it looks again when somebody comes back to it. */
function useOtherTab(isUsed: boolean): void {
  useEffect(() => {
    if (!isUsed) return;
    const look = (): void => {
      if (!document.hidden) void readSession();
    };
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, [isUsed]);
}

function ByIssuer({ issuers, to, stays }: { issuers: SignInWays['issuers']; to: string; stays: boolean }) {
  useOtherTab(stays);
  return (
    <>
      {issuers.map(({ name, path }) => (
        <p key={name} class="actions">
          <a
            class="button"
            href={`${path}?${new URLSearchParams({ 'ret-url': to }).toString()}`}
            target={stays ? '_blank' : undefined}
          >
            Sign in with {name}
          </a>
        </p>
      ))}
      {stays && issuers.length > 0 && <p class="help">It opens another tab. Come back to this one afterwards.</p>}
    </>
  );
}

function OtherWays({ passwords }: { passwords: boolean }) {
  const ways: [path: string, title: string][] = [
    [hrefOfWay('/reset'), 'Forgotten password'],
    [hrefOfWay('/sign-up'), 'Sign up'],
    ['/docs/', 'Documentation'],
  ];
  return (
    <ul class="ways">
      {(passwords ? ways : ways.slice(-1)).map(([path, title]) => (
        <li key={path}>
          <a href={path}>{title}</a>
        </li>
      ))}
    </ul>
  );
}

interface SignInFormProps {
  email?: string;
  /** Where to go, on this site. */
  to?: string;
  /** What is behind the question stays. */
  stays?: boolean;
}

export function SignInForm({ email, to = '/app/', stays = false }: SignInFormProps) {
  const { data, failure } = useCall('GET auth/sso');
  // An older replica, during an upgrade, knows passwords alone.
  const { issuers, passwords } = data ?? { issuers: [], passwords: failure !== undefined };
  return (
    <>
      <ByIssuer issuers={issuers} to={to} stays={stays} />
      {passwords && <PasswordForm email={email} />}
      {!stays && <OtherWays passwords={passwords} />}
    </>
  );
}

export function SignIn() {
  const { query } = usePlace();
  const { state } = useCell(session);
  // Always below /app: no address of another site can stand here.
  const asked = query.get('to') ?? '/';
  const to = asked.startsWith('/') ? asked : '/';
  useEffect(() => {
    if (state !== 'signed-in') return;
    const [path = '/', search = ''] = to.split('?', 2);
    go(path, new URLSearchParams(search), true);
  }, [state]);
  return <SignInForm to={`/app${to}`} />;
}

// A link that signs the first administrator in, once. Its code stands behind #, leaves the address when it is read, and
// is sent by a button alone: programs that look at links do not use them up.

export function SignInLink() {
  const { path, hash } = usePlace();
  const [code] = useState(hash);
  const { user } = useCell(session);
  useEffect(() => go(path, undefined, true), []);
  return (
    <>
      {user && (
        <p>
          You are signed in as <Stranger text={user.email} />. The link signs you in as the first administrator instead.
        </p>
      )}
      {code === '' ? (
        <p>What stands behind # in the link is missing. Open the whole link once more.</p>
      ) : (
        <Form
          submit="Sign in"
          work={async () => {
            await call('POST auth/sign-in/link', { body: { code } });
            await readSession();
            await goToFirstProbe();
          }}
        />
      )}
      <p class="help">
        A link works once, for an hour. <a href="/docs/accounts#sign-in-links">How to make another one</a>
      </p>
      <p>
        <a href={hrefOfWay('/sign-in')}>Sign in with a password</a>
      </p>
    </>
  );
}

// A new account: pending until the mail is confirmed.

export function SignUp() {
  const [sentTo, setSentTo] = useState<string | null>(null);
  if (sentTo !== null)
    return (
      <Empty title="Look into your mail">
        <p>
          A mail is on its way to <Stranger text={sentTo} />. Its link makes the account active; it is valid for a day.
        </p>
        <a href={hrefOfWay('/verify')}>Enter the code from the mail</a>
      </Empty>
    );
  return (
    <>
      <Form
        submit="Sign up"
        work={async (values) => {
          const body = textsIn(values, 'email', 'password', 'first-name', 'last-name');
          await call('POST auth/sign-up', { body });
          setSentTo(body.email);
        }}
      >
        <Field name="email" label="E-mail address" type="email" autoComplete="username" required />
        <NewPassword name="password" label="Password" />
        <Field name="first-name" label="First name" autoComplete="given-name" maxLength={100} />
        <Field name="last-name" label="Last name" autoComplete="family-name" maxLength={100} />
      </Form>
      <p>
        <a href={hrefOfWay('/sign-in')}>Sign in to an account that exists</a>
      </p>
    </>
  );
}

// The code of a mail makes an account active. It stands behind # in the link, and is sent only when this is.

export function Verify() {
  const { hash } = usePlace();
  const [email, setEmail] = useState<string | null>(null);
  if (email !== null)
    return (
      <Empty title="The account is active">
        <p>
          <Stranger text={email} /> is confirmed.
        </p>
        <a href={hrefOfWay('/sign-in')}>Sign in</a>
      </Empty>
    );
  return (
    <Form
      submit="Confirm the address"
      work={async (values) => {
        const password = textIn(values, 'password');
        const answer = await call('POST auth/verify', {
          body: { 'verify-token': textIn(values, 'verify-token').trim(), ...(password === '' ? {} : { password }) },
        });
        setEmail(answer.email);
      }}
    >
      <Field name="verify-token" label="Code from the mail" value={hash} autoComplete="off" required />
      <NewPassword
        name="password"
        label="New password (optional)"
        help="If somebody else may have chosen the password at the sign-up, choose your own"
        required={false}
      />
    </Form>
  );
}

// A forgotten password, and the first one of an invited user.

function Choose({ code }: { code: string }) {
  const [done, setDone] = useState(false);
  if (done)
    return (
      <Empty title="The password is set">
        <p>All sessions of the account have ended.</p>
        <a href={hrefOfWay('/sign-in')}>Sign in</a>
      </Empty>
    );
  return (
    <Form
      submit="Set the password"
      work={async (values) => {
        await call('POST auth/reset/confirm', {
          body: { 'reset-token': textIn(values, 'reset-token').trim(), 'new-password': textIn(values, 'new-password') },
        });
        setDone(true);
      }}
    >
      <Field name="reset-token" label="Code from the mail" value={code} autoComplete="off" required />
      <NewPassword name="new-password" />
    </Form>
  );
}

export function Reset() {
  const { hash } = usePlace();
  const [asked, setAsked] = useState(false);
  if (hash !== '' || asked)
    return (
      <>
        {asked && <p role="status">If the address has an account, a mail with a code is on its way.</p>}
        <Choose code={hash} />
      </>
    );
  return (
    <>
      <p>A mail with a code goes to the address of your account. The code is valid for an hour.</p>
      <Form
        submit="Send the mail"
        work={async (values) => {
          await call('POST auth/reset', { body: { email: textIn(values, 'email') } });
          setAsked(true);
        }}
      >
        <Field name="email" label="E-mail address" type="email" autoComplete="username" required />
      </Form>
      <button type="button" class="link" onClick={() => setAsked(true)}>
        I have a code already
      </button>
    </>
  );
}

// Where `/app/` leads to: the requests, or a first one in the playground for those who have sent none.

/** Unless the reader has gone elsewhere meanwhile. */
const goFrom = (from: string, path: string, query: URLSearchParams): void => {
  if (placeNow().path === from) go(path, query, true);
};

/** The playground with a sample in it: one click leads to an answer. */
async function goToFirstProbe(): Promise<void> {
  const from = placeNow().path;
  const query = new URLSearchParams();
  try {
    const { samples } = await withAnyToken((bearer) => call('GET /v1/samples', { bearer }));
    const [first] = samples;
    if (first) query.set('url', first.url);
  } catch (error) {
    // The playground asks for the same, and says what was wrong.
    if (!isFailure(error)) throw error;
  }
  goFrom(from, '/playground', query);
}

async function hasSent(): Promise<boolean> {
  try {
    return (await call('GET media/log', { query: { pagination: { limit: 1 } } })).log.length > 0;
  } catch (error) {
    if (!isFailure(error)) throw error;
    return true;
  }
}

export function Start() {
  const user = useUser();
  useEffect(() => {
    const start = async (): Promise<void> => {
      if (!may(user, 'write:media') || (await hasSent())) goFrom('/', '/requests', placeNow().query);
      else await goToFirstProbe();
    };
    void start();
  }, []);
  return null;
}
