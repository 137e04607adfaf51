/** Every endpoint of the management side. */
import type { Endpoint } from './endpoint.ts';
import { endSession } from './auth/end_session.ts';
import { endSessions } from './auth/end_sessions.ts';
import { jwt } from './auth/jwt.ts';
import { anothersPassword, ownPassword } from './auth/password.ts';
import { reset } from './auth/reset.ts';
import { resetConfirm } from './auth/reset_confirm.ts';
import { sessions } from './auth/sessions.ts';
import { signIn } from './auth/sign_in.ts';
import { signOut } from './auth/sign_out.ts';
import { signUp } from './auth/sign_up.ts';
import { verify } from './auth/verify.ts';
import { logDetail } from './log_detail.ts';
import { logList } from './log_list.ts';
import { statisticsQueue, statisticsRequests, statisticsSources, statisticsUsage } from './statistics.ts';
import { statisticsSummary } from './statistics_summary.ts';
import { changeToken } from './tokens/change.ts';
import { listTokens } from './tokens/list.ts';
import { makeToken } from './tokens/make.ts';
import { readToken } from './tokens/read.ts';
import { revokeToken } from './tokens/revoke.ts';
import { changeCurrent, changeUser } from './users/change.ts';
import { eraseUser } from './users/erase.ts';
import { setUserLimits, userLimits } from './users/limits.ts';
import { listUsers } from './users/list.ts';
import { makeSubUser, makeSubUserOf } from './users/make.ts';
import { readCurrent, readUser } from './users/read.ts';
import { userStatus } from './users/status.ts';
import { webhookList } from './webhook_list.ts';
import { webhookRetry } from './webhook_retry.ts';

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
  logList,
  logDetail,
  statisticsUsage,
  statisticsQueue,
  statisticsRequests,
  statisticsSources,
  statisticsSummary,
  webhookList,
  webhookRetry,
];
