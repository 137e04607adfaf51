/** All endpoints, in the order of the OpenAPI description. */
import type { Endpoint } from './http/endpoint.ts';
import { endSession, endSessions, jwt, sessions, signOut } from './accounts/session_endpoints.ts';
import { anothersPassword, ownPassword, reset, resetConfirm } from './accounts/password_endpoints.ts';
import { signIn } from './accounts/sign_in_endpoint.ts';
import { signUp, verify } from './accounts/sign_up_endpoints.ts';
import { readCluster } from './cluster/endpoint.ts';
import { compareVersions } from './compare/compare.ts';
import { compareReport } from './compare/report.ts';
import { evaluateOwnPolicy, evaluateSharedPolicy } from './policies/evaluate.ts';
import { listPolicies } from './policies/list.ts';
import { readOwnPolicy, readSharedPolicy } from './policies/read.ts';
import { deletePolicy } from './policies/remove.ts';
import { savePolicy } from './policies/save.ts';
import { readVerdict } from './policies/verdict.ts';
import { cancelProbe } from './probe/cancel_request.ts';
import { fileByBody, fileByQuery } from './probe/file.ts';
import { readProbe } from './probe/read_back.ts';
import { SINGLES } from './probe/singles.ts';
import { readTimelineOf } from './probe/timeline.ts';
import { readSamples } from './probe/samples.ts';
import { readVersions } from './probe/versions.ts';
import { logDetail } from './records/log_detail.ts';
import { eraseLog } from './records/log_erase.ts';
import { logList } from './records/log_list.ts';
import { statisticsQueue, statisticsRequests, statisticsSources, statisticsUsage } from './records/statistics.ts';
import { statisticsSummary } from './records/statistics_summary.ts';
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
import { webhookList } from './records/webhook_list.ts';
import { webhookRetry } from './records/webhook_retry.ts';

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
