/** All endpoints, in the order of the OpenAPI description. */
import type { Endpoint } from './http/endpoint.ts';
import { endSession } from './accounts/auth/end_session.ts';
import { endSessions } from './accounts/auth/end_sessions.ts';
import { jwt } from './accounts/auth/jwt.ts';
import { anothersPassword, ownPassword } from './accounts/auth/password.ts';
import { reset } from './accounts/auth/reset.ts';
import { resetConfirm } from './accounts/auth/reset_confirm.ts';
import { sessions } from './accounts/auth/sessions.ts';
import { signIn } from './accounts/auth/sign_in.ts';
import { signOut } from './accounts/auth/sign_out.ts';
import { signUp } from './accounts/auth/sign_up.ts';
import { verify } from './accounts/auth/verify.ts';
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
import { changeToken } from './accounts/tokens/change.ts';
import { listTokens } from './accounts/tokens/list.ts';
import { makeToken } from './accounts/tokens/make.ts';
import { readToken } from './accounts/tokens/read.ts';
import { revokeToken } from './accounts/tokens/revoke.ts';
import { changeCurrent, changeUser } from './accounts/users/change.ts';
import { eraseUser } from './accounts/users/erase.ts';
import { setUserLimits, userLimits } from './accounts/users/limits.ts';
import { listUsers } from './accounts/users/list.ts';
import { makeSubUser, makeSubUserOf } from './accounts/users/make.ts';
import { readCurrent, readUser } from './accounts/users/read.ts';
import { userStatus } from './accounts/users/status.ts';
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
