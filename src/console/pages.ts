/** Every page: its address, its name, and who finds it in the navigation. */
import type { ComponentType } from 'preact';
import { Account } from './views/account.tsx';
import { Audit } from './views/audit.tsx';
import { Batch } from './views/batch.tsx';
import { Batches } from './views/batches.tsx';
import { AllUsers, SubUsers, UserPage } from './views/users.tsx';
import { Cluster } from './views/cluster.tsx';
import { Compare } from './views/compare.tsx';
import { Deliveries } from './views/deliveries.tsx';
import { Policies, OwnPolicy, SharedPolicy } from './views/policies.tsx';
import { NewBatch } from './views/new_batch.tsx';
import { NewSource } from './views/new_source.tsx';
import { Playground } from './views/playground.tsx';
import { Request } from './views/request.tsx';
import { Requests } from './views/requests.tsx';
import { Reset, SignUp, Verify, SignIn, SignInLink, Start } from './views/entrance.tsx';
import { Source } from './views/source.tsx';
import { Sources } from './views/sources.tsx';
import { Token, Tokens } from './views/tokens.tsx';
import { Usage } from './views/usage.tsx';

export interface Page {
  path: string;
  title: string;
  view: ComponentType<{ params: Record<string, string> }>;
  /** Without an account. */
  open?: true;
  listed?: Listed;
}

/** In the navigation, for those who may read what it shows. */
interface Listed {
  group: 'Analyze' | 'Records' | 'Account' | 'Installation';
  permission: string;
  /** Not for those who have this permission, too. */
  unless?: string;
  /** A path of 16 by 16. */
  icon: string;
}

const ICONS = {
  play: 'M4.5 3v10l8-5z',
  compare: 'M2 3h5v10H2zM9 3h5v10H9z',
  policy: 'M3 4l1.5 1.5L7 3M3 9.5L4.5 11 7 8.5M9 4.5h5M9 10h5',
  list: 'M2 4h12M2 8h12M2 12h12',
  stack: 'M3 2.5h10M3 5h10M2 7.5h12v6H2zM5 10.5h6',
  bucket: 'M3 4l1.5 9.5h7L13 4M3 4c0-2 10-2 10 0s-10 2-10 0z',
  send: 'M2 3l12 5-12 5 2.5-5zM4.5 8H9',
  curve: 'M2 2v12h12M4.5 10.5l3-4 2.5 2 4-5.5',
  shield: 'M8 2l5 2v4c0 3-2.5 5-5 6-2.5-1-5-3-5-6V4zM5.5 8l2 2 3-3.5',
  key: 'M8 8h6v2.5M11.5 8v2M5 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z',
  person: 'M8 2.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM3 13.5c0-6 10-6 10 0z',
  people: 'M6 3a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM2 13c0-5 8-5 8 0zM10.5 4a2 2 0 0 1 0 3.5M11.5 9.5c2 .5 2.5 2 2.5 3.5',
  cluster: 'M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z',
};

const listed = (group: Listed['group'], permission: string, icon: keyof typeof ICONS): Listed => ({
  group,
  permission,
  icon: ICONS[icon],
});

/** In the order of the navigation. */
export const PAGES: readonly Page[] = [
  { path: '/', title: 'Start', view: Start },
  { path: '/playground', title: 'Playground', view: Playground, listed: listed('Analyze', 'write:media', 'play') },
  { path: '/compare', title: 'Compare', view: Compare, listed: listed('Analyze', 'write:media', 'compare') },
  { path: '/policies', title: 'Policies', view: Policies, listed: listed('Analyze', 'read:media', 'policy') },
  { path: '/policies/:name', title: 'Policy', view: OwnPolicy },
  { path: '/policies/shared/:name', title: 'Policy', view: SharedPolicy },
  { path: '/requests', title: 'Requests', view: Requests, listed: listed('Records', 'read:media', 'list') },
  { path: '/requests/:id', title: 'Request', view: Request },
  { path: '/batches', title: 'Batches', view: Batches, listed: listed('Records', 'read:media', 'stack') },
  { path: '/batches/new', title: 'New batch', view: NewBatch },
  { path: '/batches/:id', title: 'Batch', view: Batch },
  { path: '/sources', title: 'Sources', view: Sources, listed: listed('Records', 'read:media', 'bucket') },
  { path: '/sources/new', title: 'New source', view: NewSource },
  { path: '/sources/:id', title: 'Source', view: Source },
  { path: '/deliveries', title: 'Deliveries', view: Deliveries, listed: listed('Records', 'read:media', 'send') },
  { path: '/usage', title: 'Usage', view: Usage, listed: listed('Records', 'read:statistics', 'curve') },
  { path: '/audit', title: 'Audit log', view: Audit, listed: listed('Records', 'read:audit', 'shield') },
  { path: '/tokens', title: 'Tokens', view: Tokens, listed: listed('Account', 'read:profile', 'key') },
  { path: '/tokens/:id', title: 'Token', view: Token },
  // Of an administrator these are all users, which have a page of their own.
  {
    path: '/users',
    title: 'Sub-users',
    view: SubUsers,
    listed: { ...listed('Account', 'read:sub-user', 'people'), unless: 'read:admin' },
  },
  { path: '/account', title: 'Account', view: Account, listed: listed('Account', 'read:profile', 'person') },
  { path: '/cluster', title: 'Cluster', view: Cluster, listed: listed('Installation', 'read:admin', 'cluster') },
  { path: '/all-users', title: 'Users', view: AllUsers, listed: listed('Installation', 'read:admin', 'people') },
  { path: '/all-users/:id', title: 'User', view: UserPage },
  { path: '/sign-in', title: 'Sign in', view: SignIn, open: true },
  { path: '/sign-in-link', title: 'Sign in by a link', view: SignInLink, open: true },
  { path: '/sign-up', title: 'Sign up', view: SignUp, open: true },
  { path: '/verify', title: 'Confirm your address', view: Verify, open: true },
  { path: '/reset', title: 'Choose a password', view: Reset, open: true },
];
