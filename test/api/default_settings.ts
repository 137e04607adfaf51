/** Settings of an API without pages and samples. Those of an installation are in src/base/config.ts. */
export const DEFAULTS = {
  allowWebhooks: [],
  s3Hosts: [],
  onlyReturnsRaw: false,
  maxQueued: 10_000,
  finishedMax: 5_000,
  cacheEnabled: true,
  memoryBudgetBytes: 160_000_000,
  consoleFolder: null,
  siteFolder: null,
  clientFolder: null,
  samplesUrl: null,
  mcpAnswerMs: 45_000,
  cacheSeenMs: 5_000,
  graceMs: 60_000,
  tenantNamespaces: [],
  kueue: false,
};
