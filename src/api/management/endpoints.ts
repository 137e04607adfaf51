/** Every endpoint of the management side. */
import type { Endpoint } from './endpoint.ts';
import { logDetail } from './log_detail.ts';
import { logList } from './log_list.ts';
import { statisticsQueue, statisticsRequests, statisticsSources, statisticsUsage } from './statistics.ts';
import { statisticsSummary } from './statistics_summary.ts';

export const MANAGEMENT: readonly Endpoint[] = [
  logList,
  logDetail,
  statisticsUsage,
  statisticsQueue,
  statisticsRequests,
  statisticsSources,
  statisticsSummary,
];
