/** Words of a text, as the search compares them. The page in the browser imports this, too. */

const STOP = new Set(
  (
    'a an and are as at be by can do does for from has have how i if in is it its more my not of on one or that the ' +
    'their them then there they this to was what when where which who why will with you your'
  ).split(' '),
);

/** An identifier counts whole and by its parts: `show_frames`, `show`, `frames`. */
export function wordsOf(text: string): string[] {
  return [...text.toLowerCase().matchAll(/[a-z0-9]+(?:_[a-z0-9]+)*/g)]
    .flatMap(([word]) => (word.includes('_') ? [word, ...word.split('_')] : [word]))
    .filter((word) => word.length > 1 && word.length <= 40 && !STOP.has(word));
}

/** What people ask for, and what the pages call it. */
export const SYNONYMS: Readonly<Record<string, string>> = {
  abort: 'cancel',
  agent: 'mcp',
  agents: 'mcp',
  ai: 'mcp',
  airgap: 'internet',
  apikey: 'token',
  authentication: 'token',
  authorization: 'permissions',
  autoscaling: 'pools',
  aws: 's3',
  bitrate: 'rate',
  billing: 'billed',
  bulk: 'batches',
  callback: 'webhooks',
  chatgpt: 'mcp',
  claude: 'mcp',
  cost: 'usage',
  crd: 'custom',
  credentials: 'login',
  cve: 'vulnerabilities',
  dashboard: 'console',
  deploy: 'install',
  deployment: 'install',
  docker: 'images',
  duplicate: 'idempotency',
  finops: 'chargeback',
  flag: 'options',
  flags: 'options',
  fps: 'frame_rate',
  framerate: 'frame_rate',
  freeze: 'hang',
  gcs: 'google',
  gui: 'console',
  history: 'log',
  invoice: 'chargeback',
  k8s: 'kubernetes',
  kill: 'cancel',
  llm: 'mcp',
  local: 'send',
  lufs: 'loudness',
  m3u8: 'hls',
  mediastreamvalidator: 'hls',
  minio: 's3',
  monitoring: 'metrics',
  mpd: 'dash',
  offline: 'internet',
  parameter: 'options',
  pipeline: 'ci',
  price: 'usage',
  pricing: 'usage',
  privacy: 'erased',
  ratelimit: 'limits',
  rbac: 'permissions',
  sandbox: 'isolation',
  scaling: 'pools',
  sdk: 'clients',
  security: 'isolation',
  setup: 'install',
  signin: 'sign',
  sso: 'oidc',
  stuck: 'hang',
  subtitle: 'captions',
  subtitles: 'captions',
  swagger: 'openapi',
  throttling: 'limits',
  ui: 'console',
  upload: 'send',
};
