/** Every view of the console on a cluster, and when it is full: for the test of them, and for their pictures. */
import type { Page } from 'playwright-core';
import type { Person } from '../hostility/people.ts';

export interface View {
  path: string;
  heading: string;
  /** Whose page it is; by default that of the caller of the requests. */
  of?: 'operator';
  full: (page: Page) => Promise<unknown>;
}

/** Requests on record, and an ended batch. */
export type Ids = Record<'film' | 'ladder' | 'versions' | 'photo' | 'batch', string>;

interface Filled {
  film: string;
  /** The name of a policy of the caller. */
  policy: string;
  /** How the line about the film begins. */
  summary: RegExp;
  ids: Ids;
  caller: Person;
}

const rowIn = (name: string) => (page: Page) => page.getByRole('table', { name }).locator('tbody tr').first().waitFor();
export const textIn = (wanted: string | RegExp) => (page: Page) =>
  page.getByRole('main').getByText(wanted).first().waitFor();

export const viewsOf = ({ film, policy, summary, ids, caller }: Filled): Record<string, View> => ({
  requests: { path: '/requests', heading: 'Requests', full: textIn(film.slice(film.lastIndexOf('/') + 1)) },
  overview: { path: `/requests/${ids.film}`, heading: 'Request', full: textIn(summary) },
  disagreements: {
    path: `/requests/${ids.film}?tab=disagreements`,
    heading: 'Request',
    full: (page) => page.getByRole('tabpanel', { name: /Disagreements/ }).waitFor(),
  },
  policy: { path: `/requests/${ids.film}?tab=policy`, heading: 'Request', full: rowIn('Rules') },
  timeline: {
    path: `/requests/${ids.film}?tab=timeline`,
    heading: 'Request',
    full: (page) => page.getByRole('slider', { name: 'Time' }).waitFor(),
  },
  raw: {
    path: `/requests/${ids.film}?tab=raw&output=ffprobe`,
    heading: 'Request',
    full: textIn('"codec_name"'),
  },
  ladder: { path: `/requests/${ids.ladder}?tab=ladder`, heading: 'Request', full: rowIn('Variants') },
  provenance: {
    path: `/requests/${ids.photo}?tab=provenance`,
    heading: 'Request',
    full: (page) => page.getByRole('tabpanel', { name: /Provenance/ }).waitFor(),
  },
  versions: { path: `/requests/${ids.versions}`, heading: 'Request', full: rowIn('Runs') },
  playground: {
    path: `/playground?url=${encodeURIComponent(film)}`,
    heading: 'Playground',
    full: (page) => page.getByRole('button', { name: 'Run', exact: true }).waitFor(),
  },
  compare: {
    path: `/compare?url=${encodeURIComponent(film)}`,
    heading: 'Compare',
    full: (page) => page.getByRole('button', { name: 'Compare', exact: true }).waitFor(),
  },
  policies: { path: '/policies', heading: 'Policies', full: textIn(policy) },
  'one policy': {
    path: `/policies/${policy}`,
    heading: 'Policy',
    full: (page) => page.getByLabel('The policy as YAML or JSON').waitFor(),
  },
  usage: { path: '/usage', heading: 'Usage', full: rowIn('By outcome') },
  batches: { path: '/batches', heading: 'Batches', full: rowIn('Batches') },
  batch: { path: `/batches/${ids.batch}`, heading: 'Batch', full: rowIn('Items') },
  'new batch': {
    path: '/batches/new',
    heading: 'New batch',
    full: (page) => page.getByRole('button', { name: 'Create the batch' }).waitFor(),
  },
  sources: { path: '/sources', heading: 'Sources', full: textIn('There are no sources') },
  'new source': {
    path: '/sources/new',
    heading: 'New source',
    full: (page) => page.getByRole('button', { name: 'Create the source' }).waitFor(),
  },
  deliveries: { path: '/deliveries', heading: 'Deliveries', full: textIn('/hook') },
  'audit log': { path: '/audit', heading: 'Audit log', full: rowIn('Audit log') },
  tokens: { path: '/tokens', heading: 'Tokens', full: rowIn('Tokens') },
  'sub-users': { path: '/users', heading: 'Sub-users', full: textIn('There are no sub-users') },
  account: { path: '/account', heading: 'Account', full: rowIn('Sessions') },
  cluster: { path: '/cluster', heading: 'Cluster', of: 'operator', full: rowIn('Pools') },
  users: {
    path: `/all-users?email=${caller.email}`,
    heading: 'Users',
    of: 'operator',
    full: textIn(caller.email),
  },
  user: {
    path: `/all-users/${caller.id}`,
    heading: 'User',
    of: 'operator',
    full: (page) => page.getByLabel('Requests a minute', { exact: true }).waitFor(),
  },
});
