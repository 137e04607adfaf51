/**
 * All endpoints: those that these files export, in the order of the tables of permissions, which is that of the OpenAPI
 * description.
 */
import type { Endpoint } from './http/endpoint.ts';
import { ACCESS, PROBE_ACCESS } from './http/endpoint_access.ts';
import * as sessions from './accounts/session_endpoints.ts';
import * as signUp from './accounts/sign_up_endpoints.ts';
import * as tokens from './accounts/token_endpoints.ts';
import * as users from './accounts/user_endpoints.ts';
import * as cluster from './cluster/cluster_endpoint.ts';
import * as compare from './compare/compare_endpoint.ts';
import * as compareReport from './compare/compare_report_endpoint.ts';
import * as policies from './policies/policy_endpoints.ts';
import * as file from './probe/file_endpoints.ts';
import * as requests from './probe/request_endpoints.ts';
import * as samples from './probe/samples.ts';
import { SINGLES } from './probe/single_endpoints.ts';
import * as versions from './probe/versions_endpoint.ts';
import * as log from './records/log_endpoints.ts';
import * as report from './report_page/report_endpoints.ts';
import * as statistics from './records/statistics_endpoints.ts';
import * as webhooks from './records/webhook_endpoints.ts';

const isEndpoint = (value: unknown): value is Endpoint =>
  typeof value === 'object' && value !== null && 'handlers' in value;

const NAMES = Object.keys({ ...PROBE_ACCESS, ...ACCESS });

// By name, and not in a list: knip then knows that what these files export is used.
const FILES: object = {
  ...SINGLES.map(({ endpoints }) => endpoints),
  file,
  requests,
  versions,
  samples,
  compare,
  compareReport,
  policies,
  signUp,
  sessions,
  tokens,
  users,
  cluster,
  log,
  report,
  statistics,
  webhooks,
};

export const ENDPOINTS: readonly Endpoint[] = Object.values(FILES)
  .flatMap((one: object): unknown[] => Object.values(one))
  .filter(isEndpoint)
  .sort((a, b) => NAMES.indexOf(a.name) - NAMES.indexOf(b.name));
export const MANAGEMENT: readonly Endpoint[] = ENDPOINTS.filter(({ name }) => name in ACCESS);
