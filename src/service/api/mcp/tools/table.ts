/** The tools, in the order in which clients list them. */
import type { Operation } from '../../openapi/operation.ts';
import { analyzeMediaFile, checkPolicy, compareMedia } from './probing.ts';
import { cancelRequest, getRequestLogs, getResult, getUsageStats, listCapabilities } from './reading.ts';
import { searchTool } from './search.ts';
import type { Tool } from './tool.ts';

export const toolsOver = (operations: () => readonly Operation[]): readonly Tool[] => [
  searchTool(operations),
  analyzeMediaFile,
  compareMedia,
  checkPolicy,
  getResult,
  listCapabilities,
  getUsageStats,
  getRequestLogs,
  cancelRequest,
];
