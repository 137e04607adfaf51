/** All endpoints, in the order of the OpenAPI description. */
import type { Endpoint } from './http/endpoint.ts';
import { endSession, endSessions, jwt, sessions, signOut } from './accounts/session_endpoints.ts';
import { anothersPassword, ownPassword, reset, resetConfirm } from './accounts/password_endpoints.ts';
import { signIn } from './accounts/sign_in_endpoint.ts';
import { signUp, verify } from './accounts/sign_up_endpoints.ts';
import { readCluster } from './cluster/cluster_endpoint.ts';
import { compareVersions } from './compare/compare_endpoint.ts';
import { compareReport } from './compare/compare_report_endpoint.ts';
import { evaluateOwnPolicy, evaluateSharedPolicy, readVerdict } from './policies/verdict_endpoints.ts';
import {
  deletePolicy,
  listPolicies,
  readOwnPolicy,
  readSharedPolicy,
  savePolicy,
} from './policies/policy_endpoints.ts';
import { cancelProbe, readProbe, readTimelineOf } from './probe/request_endpoints.ts';
import { fileByBody, fileByQuery } from './probe/file_endpoints.ts';
import { SINGLES } from './probe/single_endpoints.ts';
import { readSamples } from './probe/samples.ts';
import { readVersions } from './probe/versions_endpoint.ts';
import { logDetail } from './records/log_detail.ts';
import { eraseLog, logList } from './records/log_endpoints.ts';
import {
  statisticsQueue,
  statisticsRequests,
  statisticsSources,
  statisticsSummary,
  statisticsUsage,
} from './records/statistics_endpoints.ts';
import { changeToken, listTokens, makeToken, readToken, revokeToken } from './accounts/token_endpoints.ts';
import {
  changeCurrent,
  changeUser,
  eraseUser,
  listUsers,
  makeSubUser,
  makeSubUserOf,
  readCurrent,
  readUser,
  setUserLimits,
  userLimits,
  userStatus,
} from './accounts/user_endpoints.ts';
import { webhookList, webhookRetry } from './records/webhook_endpoints.ts';

const PROBE: readonly Endpoint[] = [
  fileByQuery,
  fileByBody,
  ...SINGLES.flatMap(({ endpoints }) => endpoints),
  readProbe,
  cancelProbe,
  readTimelineOf,
  readVersions,
  readSamples,
  compareVersions,
  compareReport,
  readVerdict,
  listPolicies,
  // Must precede the paths with a policy name as a parameter.
  readSharedPolicy,
  evaluateSharedPolicy,
  readOwnPolicy,
  savePolicy,
  deletePolicy,
  evaluateOwnPolicy,
];

export const MANAGEMENT: readonly Endpoint[] = [
  signUp,
  verify,
  signIn,
  reset,
  resetConfirm,
  signOut,
  sessions,
  endSessions,
  endSession,
  jwt,
  ownPassword,
  anothersPassword,
  listTokens,
  makeToken,
  readToken,
  changeToken,
  revokeToken,
  listUsers,
  readCurrent,
  changeCurrent,
  makeSubUser,
  readUser,
  changeUser,
  makeSubUserOf,
  eraseUser,
  userStatus,
  userLimits,
  setUserLimits,
  readCluster,
  logList,
  logDetail,
  eraseLog,
  statisticsUsage,
  statisticsQueue,
  statisticsRequests,
  statisticsSources,
  statisticsSummary,
  webhookList,
  webhookRetry,
];

export const ENDPOINTS: readonly Endpoint[] = [...PROBE, ...MANAGEMENT];
