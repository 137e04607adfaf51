/** The tools of `/mcp`, in their order. */
export const TOOLS = [
  'search',
  'analyze_media_file',
  'check_media',
  'compare_media',
  'check_policy',
  'get_result',
  'list_capabilities',
  'get_usage_stats',
  'get_request_logs',
  'cancel_request',
  'create_batch',
  'read_batch',
  'create_source',
  'read_source',
];
