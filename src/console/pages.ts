/** Every page: its address, its name, and who finds it in the navigation. */
import type { ComponentType } from 'preact';
import { Account } from './views/account.tsx';
import { AllUsers, SubUsers } from './views/users.tsx';
import { Cluster } from './views/cluster.tsx';
import { Deliveries } from './views/deliveries.tsx';
import { Policies } from './views/policies.tsx';
import { OwnPolicy, SharedPolicy } from './views/policy.tsx';
import { Playground } from './views/playground.tsx';
import { Request } from './views/request.tsx';
import { Requests } from './views/requests.tsx';
import { Reset, SignUp, Verify } from './views/sign_up.tsx';
import { SignIn } from './views/sign_in.tsx';
import { SignInLink } from './views/sign_in_link.tsx';
import { Start } from './views/start.tsx';
import { Token } from './views/token.tsx';
import { Tokens } from './views/tokens.tsx';
import { UserPage } from './views/user.tsx';
import { Usage } from './views/usage.tsx';

export interface Page {
  path: string;
  title: string;
  view: ComponentType<{ params: Record<string, string> }>;
  /** Without an account. */
  open?: true;
  /** In the navigation, for those who may read what it shows; `unless` they also have another permission. */
  listed?: { permission: string; unless?: string };
}

export const PAGES: readonly Page[] = [
  { path: '/', title: 'Start', view: Start },
  { path: '/requests', title: 'Requests', view: Requests, listed: { permission: 'read:media' } },
  { path: '/playground', title: 'Playground', view: Playground, listed: { permission: 'write:media' } },
  { path: '/requests/:id', title: 'Request', view: Request },
  { path: '/policies', title: 'Policies', view: Policies, listed: { permission: 'read:media' } },
  { path: '/policies/:name', title: 'Policy', view: OwnPolicy },
  { path: '/policies/shared/:name', title: 'Policy', view: SharedPolicy },
  { path: '/usage', title: 'Usage', view: Usage, listed: { permission: 'read:statistics' } },
  { path: '/deliveries', title: 'Deliveries', view: Deliveries, listed: { permission: 'read:media' } },
  { path: '/tokens', title: 'Tokens', view: Tokens, listed: { permission: 'read:profile' } },
  { path: '/tokens/:id', title: 'Token', view: Token },
  // Of an administrator these are all users, which have a page of their own.
  {
    path: '/users',
    title: 'Sub-users',
    view: SubUsers,
    listed: { permission: 'read:sub-user', unless: 'read:admin' },
  },
  { path: '/cluster', title: 'Cluster', view: Cluster, listed: { permission: 'read:admin' } },
  { path: '/all-users', title: 'Users', view: AllUsers, listed: { permission: 'read:admin' } },
  { path: '/all-users/:id', title: 'User', view: UserPage },
  { path: '/account', title: 'Account', view: Account, listed: { permission: 'read:profile' } },
  { path: '/sign-in', title: 'Sign in', view: SignIn, open: true },
  { path: '/sign-in-link', title: 'Sign in by a link', view: SignInLink, open: true },
  { path: '/sign-up', title: 'Sign up', view: SignUp, open: true },
  { path: '/verify', title: 'Confirm your address', view: Verify, open: true },
  { path: '/reset', title: 'Choose a password', view: Reset, open: true },
];
