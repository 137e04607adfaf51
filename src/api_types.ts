/** Made from the schemas of the API by `make generate`: change them there. */

export type UserRole = 'root' | 'admin' | 'user' | 'sub';

export type UserStatus = 'anonymous' | 'pending' | 'active' | 'suspended';

export interface ShortUser {
  id: number;
  username: string;
  email: string;
  role: UserRole;
  status: UserStatus;
}

export interface User {
  id: number;
  username: string;
  email: string;
  'additional-emails': Array<string>;
  'first-name': string;
  'last-name': string;
  role: UserRole;
  status: UserStatus;
  parent?: ShortUser;
  'parent-user-ids': Array<number>;
  'root-user-id': number;
  permissions: Record<string, {
    name: string;
    scopes: Array<string>;
  }>;
  restrictions: Array<string>;
  plan: {
    id: number;
    name: string;
    expires?: string;
  };
  created: string;
  updated: string;
}

export interface SignInWays {
  passwords: boolean;
  'sign-up': boolean;
  issuers: Array<{
    name: string;
    path: string;
  }>;
}

export interface Session {
  id: string;
  created: string;
  expire: string;
  'remote-ip': string;
  'ua-type': 'browser' | 'mobile' | 'cli' | 'other';
  'user-agent': string;
}

export interface Limits {
  'requests-per-minute'?: number;
  concurrency?: number;
  'queue-timeout'?: number;
  'file-size'?: number;
  'cache-max-age'?: number;
  'monthly-quota'?: {
    'request-count'?: number;
    'processing-time'?: number;
    'data-processed'?: number;
    'decoded-seconds'?: number;
  };
}

export interface LimitsInForce {
  'requests-per-minute': number;
  concurrency: number;
  'queue-timeout': number;
  'file-size': number;
  'cache-max-age': number;
  'account-concurrency'?: number;
}

export interface ListedApiToken {
  id: number;
  'user-id': number;
  name: string;
  permissions?: Array<string>;
  limits: Limits;
  'limits-in-force': LimitsInForce;
  default: boolean;
  expires?: string;
  created: string;
  updated: string;
}

export interface ListPage {
  count: number;
  limit: number;
  page: number;
  total: number;
}

export interface ListOrder {
  field: string;
  order: string;
}

export type Permission = 
  | 'read:admin'
  | 'read:audit'
  | 'read:billing'
  | 'read:invite'
  | 'read:media'
  | 'read:profile'
  | 'read:statistics'
  | 'read:sub-user'
  | 'read:user'
  | 'write:admin'
  | 'write:billing'
  | 'write:invite'
  | 'write:media'
  | 'write:policy'
  | 'write:sub-user'
  | 'write:user'
  | 'write:webhook';

export interface ApiToken {
  id: number;
  'user-id': number;
  name: string;
  permissions?: Array<string>;
  limits: Limits;
  'limits-in-force': LimitsInForce;
  default: boolean;
  expires?: string;
  created: string;
  updated: string;
  token?: string;
  'webhook-secret'?: string;
}

export interface ListedUser {
  id: number;
  username: string;
  email: string;
  role: UserRole;
  status: UserStatus;
  created: string;
  updated: string;
}

export interface UserLimits {
  'requests-per-minute'?: number;
  concurrency?: number;
  'queue-timeout'?: number;
  'file-size'?: number;
  'cache-max-age'?: number;
  'monthly-quota'?: {
    'request-count'?: number;
    'processing-time'?: number;
    'data-processed'?: number;
    'decoded-seconds'?: number;
  };
  'account-concurrency'?: number;
  'in-force': LimitsInForce;
}

export interface AccountLabels {
  labels: Record<string, string>;
}

export interface ClusterTerm {
  pod: string;
  epoch: number;
  since: string;
}

export interface ClusterPool {
  name: string;
  kinds: Array<'file' | 'msv' | 'c2pa' | 'compare' | 'qc'>;
  ready: number;
  untouched: number;
  busy: number;
  starting: number;
  ending: number;
  'min-ready': number;
  max: number;
  waiting: number;
  condition?: {
    status: 'True' | 'False' | 'Unknown';
    reason: string;
    message: string;
    since: string;
  };
  short?: string;
  isolation: Array<{
    wall: 'UserNamespace' | 'SyscallFilter' | 'NetworkEnforced';
    required: boolean;
    status: 'True' | 'False' | 'Unknown';
    reason: string;
    message: string;
  }>;
  ended: Array<{
    why: string;
    count: number;
  }>;
}

export interface ClusterRunner {
  pod: string;
  pool: string;
  node?: string;
  state: 'starting' | 'idle' | 'busy' | 'draining' | 'ending';
  phase?: 'idle' | 'prepared' | 'running' | 'publishing' | 'draining';
  since?: string;
  account?: number;
  job?: string;
  'request-id'?: string;
  'jobs-done': number;
}

export interface ClusterTool {
  tool: 'ffprobe' | 'mediainfo' | 'msv' | 'c2pa' | 'qc';
  version: string;
  latest: boolean;
  reported?: string;
  state: 'ready' | 'proving' | 'refused' | 'degraded';
  since?: string;
  why?: string;
  'startup-ms'?: number;
  architectures: Array<string>;
}

export interface ClusterAccount {
  account: number;
  waiting: number;
  running: number;
  limit?: number;
  'oldest-wait-ms'?: number;
}

export interface ClusterEvent {
  at: string;
  kind: string;
  object: string;
  reason: string;
  message: string;
  count: number;
}

export interface ClusterState {
  'age-ms': number;
  stale: boolean;
  at: string;
  leader: {
    pod: string;
    epoch: number;
    since: string;
    release: string;
  };
  terms: Array<ClusterTerm>;
  pools: Array<ClusterPool>;
  runners: Array<ClusterRunner>;
  tools: Array<ClusterTool>;
  'tools-ready': number;
  'tools-total': number;
  queue: {
    waiting: number;
    running: number;
    'oldest-wait-ms'?: number;
    accounts: Array<ClusterAccount>;
  };
  faults: {
    'attempts-lost': number;
    'jobs-lost': number;
    'proofs-failed': number;
    dependencies: Array<{
      name: 'postgres' | 'nats' | 'kubernetes';
      up: boolean;
      since?: string;
    }>;
    events: Array<ClusterEvent>;
  };
  'left-out': {
    pools: number;
    runners: number;
    tools: number;
    accounts: number;
    events: number;
  };
}

export type AuditOutcome = 'done' | 'denied';

export interface AuditChange {
  field: string;
  before?: unknown;
  after?: unknown;
  redacted?: 'changed' | 'shown';
}

export interface AuditEntry {
  id: string;
  time: string;
  'user-id'?: number;
  email?: string;
  'token-id'?: number;
  'session-id'?: string;
  address: string;
  action: string;
  subject?: string;
  outcome: AuditOutcome;
  code?: string;
  changes: Array<AuditChange>;
}

export interface ToolOption {
  name: string;
  type: 'boolean' | 'integer' | 'number' | 'enum' | 'string';
  default: boolean | number | string | null;
  help: string;
  values?: Array<string>;
  minimum?: number;
  maximum?: number;
  pattern?: string;
}

export interface ToolVersion {
  version: string;
  latest?: true;
  options: Array<string>;
  values?: Record<string, Array<string>>;
  reported?: string;
  warning?: string;
}

export interface AvailableTool {
  tool: 'ffprobe' | 'mediainfo' | 'mediastreamvalidator' | 'c2pa' | 'qc';
  latest: string | null;
  selectable: boolean;
  default: boolean;
  help: string;
  options: Array<ToolOption>;
  versions: Array<ToolVersion>;
}

export interface Versions {
  success: true;
  tools: Array<AvailableTool>;
}

export interface Sample {
  url: string;
  group: 'video' | 'audio' | 'streams' | 'c2pa' | 'broken';
  shows: string;
  endpoint: 'file' | 'mediastreamvalidator' | 'c2pa';
  codecs: Array<string> | null;
}

export interface Samples {
  success: true;
  samples: Array<Sample>;
}

export type Cause = string;

export interface OriginUse {
  requests: number;
  connections: number;
  bytes: number;
  ms: number;
}

export interface FromCache {
  request_id?: string;
  age: number;
}

export interface Metadata {
  request_id: string;
  queue_time: number;
  io_usage: number;
  origin?: {
    ffprobe?: OriginUse;
    mediainfo?: OriginUse;
    mediastreamvalidator?: OriginUse;
    c2pa?: OriginUse;
    qc?: OriginUse;
  };
  cache?: FromCache;
}

export interface ToolResult {
  success: boolean;
  duration: number;
  usage: number;
  error?: string;
  code?: Cause;
  exit_code?: number;
  response: unknown;
}

export interface ReportVideoCodec {
  id: number;
  name?: string;
  four_cc?: string;
}

export interface ReportSize {
  width?: number;
  height?: number;
  display_aspect_ratio?: number;
  sample_aspect_ratio?: number;
}

export interface Fraction {
  numerator: number;
  denominator: number;
}

export interface ReportPixelFormat {
  color_model?: 'yuv' | 'rgb' | 'gray' | 'palette';
  components_order?: string;
  chroma_subsampling?: string;
  bit_depth?: number;
  has_alpha?: boolean;
}

export interface ReportVideoBitrate {
  average: number;
  nominal?: number;
  minimum?: number;
  maximum?: number;
}

export interface ReportColor {
  primaries?: string;
  transfer?: string;
  matrix?: string;
  range?: 'tv' | 'pc';
}

export interface ReportContainerBitrate {
  average?: number;
}

export interface ReportStreamCounts {
  total: number;
  video: number;
  audio: number;
  subtitle: number;
  data: number;
  attachment: number;
}

export interface ReportChapter {
  start: number;
  end?: number;
  title?: string;
}

export interface ReportContainer {
  format?: string;
  start_time?: number;
  duration?: number;
  size?: number;
  bitrate?: ReportContainerBitrate;
  title?: string;
  encoder?: string;
  brand?: string;
  timecode?: string;
  streamable?: boolean;
  streams: ReportStreamCounts;
  chapters?: Array<ReportChapter>;
}

export interface ReportStreamCodec {
  id?: number;
  name?: string;
  four_cc?: string;
  profile?: string;
  level?: string;
}

export interface ReportStreamBitrate {
  average?: number;
  nominal?: number;
  minimum?: number;
  maximum?: number;
}

export interface ReportHdr {
  formats?: Array<string>;
  mastering_display?: boolean;
  dynamic?: boolean;
  max_cll?: number;
  max_fall?: number;
  dolby_vision_profile?: number;
  dolby_vision_level?: number;
  dolby_vision_compatibility?: 'HDR10' | 'HLG' | 'SDR' | 'Blu-ray' | 'none';
  dolby_vision_rpu?: true;
}

export interface ReportCaption {
  kind: 'a53' | 'cea-608' | 'cea-708';
  service?: string;
  first_time?: number;
}

export interface ReportLookedAt {
  pictures: number;
  seconds?: number;
  captions?: number;
}

export interface ReportStream {
  index: number;
  type: 'video' | 'audio' | 'subtitle' | 'data' | 'attachment';
  id?: number;
  codec?: ReportStreamCodec;
  start_time?: number;
  duration?: number;
  bitrate?: ReportStreamBitrate;
  language?: string;
  title?: string;
  timecode?: string;
  default?: boolean;
  forced?: boolean;
  encrypted?: true;
  attached_picture?: true;
  embedded?: true;
  size?: ReportSize;
  frame_rate?: Fraction;
  frame_rate_mode?: 'constant' | 'variable';
  scan_type?: 'progressive' | 'interlaced';
  scan_order?: 'tff' | 'bff';
  pulldown?: true;
  pixel_format?: ReportPixelFormat;
  color?: ReportColor;
  hdr?: ReportHdr;
  captions?: Array<ReportCaption>;
  looked_at?: ReportLookedAt;
  rotation?: number;
  frames_count?: number;
  sample_rate?: number;
  channels?: number;
  channel_layout?: string;
  bit_depth?: number;
}

export interface ReportWarning {
  code: string;
  message: string;
  path: string;
}

export interface ReportDifference {
  path: string;
  ffprobe: string | number | boolean | Record<string, unknown> | null;
  mediainfo: string | number | boolean | Record<string, unknown> | null;
  bitstream?: string | number | boolean | Record<string, unknown>;
  chosen: 'ffprobe' | 'mediainfo' | 'bitstream' | null;
  reason: string;
  confidence?: number;
}

export interface ProbeReport {
  codec?: ReportVideoCodec;
  size?: ReportSize;
  frame_rate?: Fraction;
  pixel_format?: ReportPixelFormat;
  start_time?: number;
  duration?: number;
  frames_count?: number;
  bitrate?: ReportVideoBitrate;
  color?: ReportColor;
  container: ReportContainer;
  streams: Array<ReportStream>;
  confidence: Record<string, number>;
  warnings: Array<ReportWarning>;
  diff?: Array<ReportDifference>;
}

export interface ProbeReportResult {
  success: boolean;
  duration: number;
  usage: number;
  error?: string;
  code?: Cause;
  exit_code?: number;
  response: ProbeReport | string | null;
}

export interface HlsFindingCounts {
  must_fix: number;
  should_fix: number;
  info: number;
}

export interface HlsSegmentDurations {
  declared: Array<number>;
  left_out: number;
}

export interface HlsPlaylistText {
  lines: Array<string>;
  left_out: number;
}

export interface HlsMeasuredDuration {
  index: number;
  seconds: number;
}

export interface HlsMeasuredStream {
  type: 'video' | 'audio' | 'other';
  codec: string;
  profile: string;
  width: number;
  height: number;
  channels: number;
}

export interface HlsMeasured {
  segments: number;
  bytes: number;
  seconds: number;
  peak_bit_rate: number;
  average_bit_rate: number;
  durations: Array<HlsMeasuredDuration>;
  streams: Array<HlsMeasuredStream>;
}

export interface HlsPlaylist {
  url: string;
  role: 
    | 'multivariant'
    | 'media'
    | 'variant'
    | 'iframes'
    | 'audio'
    | 'video'
    | 'subtitles'
    | 'unknown';
  version: number | null;
  lines: number;
  bytes: number;
  live: boolean;
  type: string | null;
  target_duration: number | null;
  media_sequence: number | null;
  segments: number | null;
  duration: number | null;
  discontinuities: number | null;
  gaps: number | null;
  encryption: Array<string>;
  init_section: boolean;
  byte_ranges: boolean;
  low_latency: boolean;
  program_date_time: boolean;
  date_ranges: number;
  findings: HlsFindingCounts;
  segment_durations: HlsSegmentDurations | null;
  text: HlsPlaylistText | null;
  measured: HlsMeasured | null;
}

export interface HlsMeasuredRates {
  peak: number;
  average: number;
}

export interface HlsVariant {
  url: string;
  iframes: boolean;
  bandwidth: number | null;
  average_bandwidth: number | null;
  codecs: string | null;
  resolution: string | null;
  frame_rate: number | null;
  video_range: string | null;
  audio: string | null;
  subtitles: string | null;
  closed_captions: string | null;
  line: number;
  measured: HlsMeasuredRates | null;
}

export interface HlsMessage {
  level: 'must-fix' | 'should-fix' | 'info';
  code: string;
  apple_code?: number;
  rule: string;
  message: string;
  remedy?: string;
  url: string;
  line: number;
  column?: number;
  count?: number;
}

export interface HlsSummary {
  must_fix: number;
  should_fix: number;
  info: number;
  untold: number;
  playlists: number;
  variants: number;
  segments: number;
  segments_measured: number;
  bytes_measured: number;
  reloads: number;
  live: boolean;
  protocol_version: number;
  newest_protocol_version: number;
  duration: number;
}

export interface HlsReport {
  success: boolean;
  error?: string;
  cli_output: string | null;
  tool: string;
  version: string;
  reference_version: string;
  playlists: Array<HlsPlaylist>;
  variants: Array<HlsVariant>;
  messages: Array<HlsMessage>;
  summary: HlsSummary;
}

export interface HlsResult {
  success: boolean;
  duration: number;
  usage: number;
  error?: string;
  code?: Cause;
  exit_code?: number;
  response: HlsReport | string | null;
}

export interface C2paAssertion {
  label: string;
  data?: unknown;
}

export interface C2paIngredient {
  title?: string;
  format?: string;
  relationship?: string;
  active_manifest?: string;
}

export interface C2paSignature {
  alg?: string;
  issuer?: string;
  common_name?: string;
  cert_serial_number?: string;
  time?: string;
}

export interface C2paManifest {
  label?: string;
  title?: string;
  format?: string;
  instance_id?: string;
  claim_generator?: string;
  claim_generator_info?: Array<Record<string, unknown>>;
  assertions?: Array<C2paAssertion>;
  ingredients?: Array<C2paIngredient>;
  signature_info?: C2paSignature;
}

export interface C2paStatus {
  code: string;
  url?: string;
  explanation?: string;
}

export interface C2paStatuses {
  success?: Array<C2paStatus>;
  informational?: Array<C2paStatus>;
  failure?: Array<C2paStatus>;
}

export interface C2paResults {
  activeManifest?: C2paStatuses;
  ingredientDeltas?: Array<Record<string, unknown>>;
}

export interface C2paSigner {
  common_name: string | null;
  organization: string | null;
}

export interface C2paAction {
  action: string | null;
  when: string | null;
  software: string | null;
  source_type: string | null;
}

export interface C2paSummary {
  state: 'Invalid' | 'Valid' | 'Trusted' | 'none';
  signer: C2paSigner | null;
  declared_ai: 'generated' | 'composite' | 'unspecified' | null;
  actions: Array<C2paAction>;
}

export interface C2paReport {
  active_manifest: string | null;
  manifests: Record<string, C2paManifest>;
  validation_state: 'Invalid' | 'Valid' | 'Trusted' | null;
  validation_results: C2paResults | null;
  summary?: C2paSummary;
  remote_manifest?: string;
}

export interface C2paResult {
  success: boolean;
  duration: number;
  usage: number;
  error?: string;
  code?: Cause;
  exit_code?: number;
  response: C2paReport | string | null;
}

export interface QcEvent {
  from: number;
  to: number;
  to_end: boolean;
}

export interface QcEvents {
  count: number;
  list: Array<QcEvent>;
  more: number;
}

export interface QcScan {
  progressive: number;
  top_first: number;
  bottom_first: number;
  looks: 'progressive' | 'top first' | 'bottom first' | null;
  declared: 'progressive' | 'top first' | 'bottom first' | null;
  differs: boolean;
}

export interface QcBars {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface QcLetterbox {
  from: number;
  to: number;
  to_end: boolean;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface QcLetterboxes {
  changes: boolean;
  count: number;
  list: Array<QcLetterbox>;
  more: number;
}

export interface QcVideo {
  stream: number;
  decoded: number | null;
  declared: number | null;
  duration_differs: boolean;
  black: QcEvents;
  freeze: QcEvents;
  scan: QcScan;
  bars: QcBars | null;
  letterbox: QcLetterboxes | null;
  test_bars: QcEvents;
}

export interface QcLoudness {
  integrated: number | null;
  range: number | null;
  short_term_max: number | null;
  true_peak: number | null;
}

export interface QcPhase {
  mean: number | null;
  mono: boolean;
  out_of_phase: QcEvents;
}

export interface QcTone {
  from: number;
  to: number;
  to_end: boolean;
  frequency: number;
  level: number;
}

export interface QcTones {
  count: number;
  list: Array<QcTone>;
  more: number;
}

export interface QcAudio {
  stream: number;
  decoded: number | null;
  declared: number | null;
  duration_differs: boolean;
  silence: QcEvents;
  loudness: QcLoudness;
  sample_peak: number | null;
  flat_factor: number | null;
  clipping: boolean;
  dc_offset: number | null;
  phase: QcPhase | null;
  test_tones: QcTones;
}

export interface QcApart {
  apart: number;
  first: number;
  last: number;
  differs: boolean;
}

export interface QcTracks {
  starts: QcApart;
  ends?: QcApart;
}

export interface QcThresholds {
  black_min: number;
  black_pixel: number;
  freeze_min: number;
  freeze_noise: number;
  silence_min: number;
  silence_noise: number;
  phase_min: number;
  letterbox_min: number;
  test_bars_min: number;
  test_tone_min: number;
}

export interface QcNotChecked {
  stream: number;
  type: 'video' | 'audio';
  why: string;
}

export interface QcError {
  at: number | null;
  byte: number | null;
  what: string;
}

export interface QcErrors {
  count: number;
  list: Array<QcError>;
  more: number;
}

export interface QcIntegrityStream {
  stream: number;
  type: 'video' | 'audio';
  packets: number;
  errors: QcErrors;
  hash: string | null;
  no_hash?: string;
  not_checked?: string;
}

export interface QcChecksum {
  kind: 'flac-md5' | 'matroska-crc32' | 'ogg-crc32';
  stream: number | null;
  checked: number;
  wrong: number;
  first_wrong_byte: number | null;
}

export interface QcIntegrity {
  streams: Array<QcIntegrityStream>;
  checksums: Array<QcChecksum>;
  until?: number | null;
  cut?: string;
}

export interface QcFile {
  bytes: number | null;
  sha256: string | null;
  md5?: string | null;
  as_given?: boolean;
  cut?: string;
}

export interface QcReport {
  video: Array<QcVideo>;
  audio: Array<QcAudio>;
  tracks?: QcTracks;
  until?: number | null;
  cut?: string;
  thresholds: QcThresholds;
  unread_lines: number;
  not_checked: Array<QcNotChecked>;
  integrity?: QcIntegrity;
  file?: QcFile;
  pictures?: number;
}

export interface Waived {
  waiver: string;
  reason: string;
  by: string | null;
  until: string;
}

export interface QcWaived {
  check: 
    | 'black'
    | 'freeze'
    | 'silence'
    | 'phase'
    | 'letterbox'
    | 'test_bars'
    | 'test_tone'
    | 'errors'
    | 'clipping'
    | 'scan'
    | 'duration'
    | 'start'
    | 'end'
    | 'checksum';
  stream: number;
  from: number | null;
  to: number | null;
  waived: Waived;
}

export interface QcResult {
  success: boolean;
  duration: number;
  usage: number;
  error?: string;
  code?: Cause;
  exit_code?: number;
  response: QcReport | string | null;
  waived?: Array<QcWaived>;
}

export interface TimelineResult {
  success: boolean;
  duration: number;
  usage: number;
  error?: string;
  code?: Cause;
}

export interface RuleResult {
  name: string;
  level: 'fail' | 'warn';
  outcome: 'pass' | 'fail' | 'warn' | 'not-applicable' | 'unknown' | 'waived';
  waived?: Waived;
  stream?: string;
  field?: string;
  actual?: string;
  expected?: string;
  from?: string;
  confidence?: number;
  message: string;
  also?: Array<{
    stream: string;
    actual?: string;
  }>;
  more?: number;
}

export interface PolicyResult {
  name: string | null;
  revision: number | null;
  outcome: 'pass' | 'fail' | 'warn' | 'not-applicable' | 'unknown';
  rules: Array<RuleResult>;
}

export interface Envelope {
  success: boolean;
  error?: string;
  code?: Cause;
  metadata: Metadata;
  ffprobe?: ToolResult;
  mediainfo?: ToolResult;
  probe_report?: ProbeReportResult;
  mediastreamvalidator?: HlsResult;
  c2pa?: C2paResult;
  qc?: QcResult;
  timeline?: TimelineResult;
  policy?: PolicyResult;
  tagged?: {
    written: boolean;
    code?: string;
    message?: string;
  };
}

export interface FailedOutput {
  success: false;
  error: string;
  code?: Cause;
}

export type BareOutput = Record<string, unknown>;

export interface SingleMetadata {
  request_id: string;
  queue_time: number;
  io_usage: number;
  origin?: {
    ffprobe?: OriginUse;
    mediainfo?: OriginUse;
    mediastreamvalidator?: OriginUse;
    c2pa?: OriginUse;
    qc?: OriginUse;
  };
  cache?: FromCache;
  duration: number;
  usage: number;
}

export interface MsvEnvelope {
  success: boolean;
  error?: string;
  code?: Cause;
  output: HlsReport | string | null;
  cli_output: string | null;
  metadata: SingleMetadata;
  policy?: PolicyResult;
}

export interface C2paEnvelope {
  success: boolean;
  error?: string;
  code?: Cause;
  output: C2paReport | string | null;
  metadata: SingleMetadata;
  policy?: PolicyResult;
}

export interface ComparisonMetadata {
  request_id?: string;
  request_ids?: Array<string>;
  queue_time: number;
  io_usage: number;
  origin?: {
    ffprobe?: OriginUse;
    mediainfo?: OriginUse;
    mediastreamvalidator?: OriginUse;
    c2pa?: OriginUse;
    qc?: OriginUse;
  };
}

export interface ComparedRun {
  run: string;
  tool: 'ffprobe' | 'mediainfo';
  version: string;
  build: string | null;
  success: boolean;
  duration: number;
  usage: number;
  error?: string;
  code?: Cause;
}

export interface KnownChange {
  release: string;
  note: string;
}

export interface ChangedField {
  path: string;
  tool: 'ffprobe' | 'mediainfo';
  level: 'canonical' | 'raw';
  change: 'type' | 'value' | 'renamed' | 'removed' | 'added' | 'rounding';
  to?: string;
  values: Record<string, string | number | boolean | null>;
  count?: number;
  known?: KnownChange;
}

export interface ComparisonSummary {
  fields: number;
  told: number;
  known: number;
  canonical: number;
  raw: number;
  changes: {
    type: number;
    value: number;
    renamed: number;
    removed: number;
    added: number;
    rounding: number;
  };
  not_compared: Array<{
    tool: 'ffprobe' | 'mediainfo';
    run: string;
    why: string;
  }>;
}

export interface ComparisonAnswer {
  success: boolean;
  error?: string;
  code?: Cause;
  metadata: ComparisonMetadata;
  runs: Array<ComparedRun>;
  fields: Array<ChangedField>;
  summary: ComparisonSummary;
}

export interface Accepted {
  success: true;
  metadata: {
    request_id: string;
  };
}

export interface TimelineGops {
  count: number;
  min: number;
  mean: number;
  max: number;
  open?: true;
}

export interface TimelineGaps {
  count: number;
  list: Array<Array<number>>;
}

export interface TimelineJumps {
  count: number;
  list: Array<Array<number>>;
}

export interface StreamTimeline {
  index: number;
  type: string | null;
  codec: string | null;
  start: number | null;
  end: number | null;
  packets: number;
  bytes: number;
  untimed: number;
  step: number;
  first: number;
  bits: Array<number>;
  counts: Array<number>;
  keys: {
    count: number;
    every: boolean;
    times: Array<number>;
  };
  gops: TimelineGops | null;
  gaps: TimelineGaps;
  jumps: TimelineJumps;
}

export interface Timeline {
  success: true;
  request_id: string;
  version: string;
  until?: number;
  cut?: string;
  streams_left_out: number;
  streams: Array<StreamTimeline>;
}

export interface QcPicture {
  at: number;
  jpeg: string;
}

export interface QcPicturesVideo {
  stream: number;
  width: number;
  height: number;
  list: Array<QcPicture>;
}

export interface QcWaveform {
  stream: number;
  step: number;
  peaks: string;
}

export interface Pictures {
  success: true;
  request_id: string;
  video: QcPicturesVideo | null;
  audio: Array<QcWaveform>;
}

export interface BatchCounts {
  waiting: number;
  running: number;
  success: number;
  'with-errors': number;
  error: number;
  skipped: number;
}

export interface BatchSummary {
  container: Array<{
    value: string | null;
    count: number;
  }>;
  video_codec: Array<{
    value: string | null;
    count: number;
  }>;
  audio_codec: Array<{
    value: string | null;
    count: number;
  }>;
  hdr: Array<{
    value: string | null;
    count: number;
  }>;
  policy: Array<{
    value: string | null;
    count: number;
  }>;
  rule: Array<{
    value: string | null;
    count: number;
  }>;
}

export interface Batch {
  id: string;
  name: string | null;
  state: 'running' | 'paused' | 'stopped' | 'cancelling' | 'ended';
  reason: string | null;
  text: string | null;
  created_at: string;
  deadline_at: string | null;
  ended_at: string | null;
  items: number;
  counts: BatchCounts;
  bucket: {
    url: string;
    listed: boolean;
    found: number;
    filtered: number;
    left_out: number;
  } | null;
  source: string | null;
  requests: number;
  io_bytes: number;
  concurrency: number;
  rate: number;
  per_host: number;
  tries: number;
  max_requests: number | null;
  max_bytes: number | null;
  probe: object;
  left_out?: number;
  webhook_url: string | null;
  webhook_every: number | null;
  webhook_format: 'plain' | 'cloudevents';
  tagged: Record<string, number> | null;
  webhook_items: boolean;
  per_minute: number | null;
  estimated_end_at: string | null;
  errors: Array<{
    code: string;
    count: number;
  }>;
  summary: BatchSummary;
}

export interface BatchRow {
  id: string;
  name: string | null;
  state: 'running' | 'paused' | 'stopped' | 'cancelling' | 'ended';
  reason: string | null;
  text: string | null;
  created_at: string;
  deadline_at: string | null;
  ended_at: string | null;
  items: number;
  counts: BatchCounts;
  bucket: {
    url: string;
    listed: boolean;
    found: number;
    filtered: number;
    left_out: number;
  } | null;
  source: string | null;
  requests: number;
  io_bytes: number;
  concurrency: number;
  rate: number;
  per_host: number;
  tries: number;
  max_requests: number | null;
  max_bytes: number | null;
}

export interface BatchItem {
  n: number;
  url: string;
  ref: string | null;
  state: 'waiting' | 'running' | 'success' | 'with-errors' | 'error' | 'skipped';
  tries: number;
  request_id: string | null;
  submitted_at: string | null;
  not_before: string | null;
  ended_at: string | null;
  status: number | null;
  reason: string | null;
  code: string | null;
  policy_outcome: 'pass' | 'fail' | 'warn' | 'not-applicable' | 'unknown' | null;
  io_bytes: number;
  container: string | null;
  video_codec: string | null;
  audio_codec: string | null;
  hdr: string | null;
  rule: string | null;
}

export interface ComparedBatch {
  id: string;
  name: string | null;
  state: 'running' | 'paused' | 'stopped' | 'cancelling' | 'ended';
  created_at: string;
  items: number;
}

export interface FlippedItem {
  url: string;
  ref: string | null;
  a: string | null;
  b: string | null;
}

export interface StateFlip {
  from: 'waiting' | 'running' | 'success' | 'with-errors' | 'error' | 'skipped';
  to: 'waiting' | 'running' | 'success' | 'with-errors' | 'error' | 'skipped';
  count: number;
  items: Array<FlippedItem>;
}

export interface OutcomeFlip {
  from: 'pass' | 'fail' | 'warn' | 'not-applicable' | 'unknown';
  to: 'pass' | 'fail' | 'warn' | 'not-applicable' | 'unknown';
  count: number;
  items: Array<FlippedItem>;
}

export interface ReportedField {
  path: string;
  tool: 'ffprobe' | 'mediainfo';
  level: 'canonical' | 'raw';
  change: 'type' | 'value' | 'renamed' | 'removed' | 'added' | 'rounding';
  to?: string;
  files: number;
  known?: KnownChange;
  examples: Array<{
    request_id: string;
    path: string;
    values: Record<string, string | number | boolean | null>;
  }>;
}

export interface UpgradeSummary {
  comparisons: number;
  changed: number;
  unchanged: number;
  cut: number;
  fields: number;
  told: number;
  known: number;
}

export interface BatchDiff {
  a: ComparedBatch;
  b: ComparedBatch;
  pairs: number;
  only_in_a: number;
  only_in_b: number;
  erased: number;
  states: Array<StateFlip>;
  policy_outcomes: Array<OutcomeFlip>;
  fields: Array<ReportedField>;
  summary: UpgradeSummary;
  not_compared: Array<{
    why: 'not-ended' | 'no-result' | 'expired' | 'unreadable' | 'too-large' | 'no-fields';
    count: number;
  }>;
  next: number | null;
}

export interface Source {
  id: string;
  name: string | null;
  state: 'running' | 'paused' | 'stopped' | 'deleting';
  reason: string | null;
  text: string | null;
  created_at: string;
  url: string;
  every: number | null;
  settle: number;
  bundle: number;
  existing: boolean;
  objects: number;
  waiting: number;
  next_listing_at: string | null;
  events: {
    noted: number;
    ignored: number;
    last_at: string | null;
    confirmation_waiting: boolean;
    confirmation_host: string | null;
  };
  last_listing: {
    at: string;
    error: string | null;
    found: number;
    filtered: number;
    left_out: number;
  } | null;
}

export interface PolicyAtVersions {
  outcome: 'pass' | 'fail' | 'warn' | 'not-applicable' | 'unknown';
  versions: {
    ffprobe?: string;
    mediainfo?: string;
  };
}

export interface PolicyFlips {
  name: string;
  revision: number;
  flips: number;
  judged: number;
  not_judged: number;
  examples: Array<{
    request_id: string;
    from: PolicyAtVersions;
    to: PolicyAtVersions;
    rules: Array<string>;
  }>;
}

export interface UpgradeReport {
  fields: Array<ReportedField>;
  summary: UpgradeSummary;
  left_out: Array<{
    request_id: string;
    why: string;
  }>;
  policies?: Array<PolicyFlips>;
}

export interface PolicyRow {
  name: string;
  revision: number;
  created_at: string;
  user_id: number | null;
  description?: string;
}

export interface PolicyCondition {
  each?: 'video' | 'audio' | 'subtitle' | 'data' | 'attachment' | 'picture' | 'stream';
  match?: string | Record<string, unknown>;
  when?: unknown;
  field?: string;
  confidence?: Record<string, unknown>;
  tool?: 'ffprobe' | 'mediainfo' | 'msv' | 'c2pa' | 'qc';
  path?: string;
  count?: 'video' | 'audio' | 'subtitle' | 'data' | 'attachment' | 'picture' | 'stream';
  disagreement?: number | Record<string, unknown>;
  warnings?: number | Record<string, unknown>;
  findings?: Record<string, unknown>;
  c2pa?: Record<string, unknown>;
  all?: Array<Record<string, unknown>>;
  any?: Array<Record<string, unknown>>;
  none?: Array<Record<string, unknown>>;
  is?: string | number | boolean | Record<string, unknown>;
  not?: 
    | string
    | number
    | boolean
    | Record<string, unknown>
    | Array<string | number | boolean>;
  in?: Array<string | number | boolean>;
  'at-least'?: string | number | boolean | Record<string, unknown>;
  'at-most'?: string | number | boolean | Record<string, unknown>;
  above?: string | number | boolean | Record<string, unknown>;
  below?: string | number | boolean | Record<string, unknown>;
  between?: Array<string | number | boolean>;
  within?: string | number | boolean | Record<string, unknown>;
  'starts-with'?: string | Array<string>;
  matches?: string | Array<string>;
  exists?: boolean;
  absent?: boolean;
}

export interface PolicyRule {
  name: string;
  level?: 'fail' | 'warn';
  description?: string;
  each?: 'video' | 'audio' | 'subtitle' | 'data' | 'attachment' | 'picture' | 'stream';
  match?: string | Record<string, unknown>;
  when?: unknown;
  field?: string;
  confidence?: Record<string, unknown>;
  tool?: 'ffprobe' | 'mediainfo' | 'msv' | 'c2pa' | 'qc';
  path?: string;
  count?: 'video' | 'audio' | 'subtitle' | 'data' | 'attachment' | 'picture' | 'stream';
  disagreement?: number | Record<string, unknown>;
  warnings?: number | Record<string, unknown>;
  findings?: Record<string, unknown>;
  c2pa?: Record<string, unknown>;
  all?: Array<PolicyCondition>;
  any?: Array<PolicyCondition>;
  none?: Array<PolicyCondition>;
  is?: string | number | boolean | Record<string, unknown>;
  not?: 
    | string
    | number
    | boolean
    | Record<string, unknown>
    | Array<string | number | boolean>;
  in?: Array<string | number | boolean>;
  'at-least'?: string | number | boolean | Record<string, unknown>;
  'at-most'?: string | number | boolean | Record<string, unknown>;
  above?: string | number | boolean | Record<string, unknown>;
  below?: string | number | boolean | Record<string, unknown>;
  between?: Array<string | number | boolean>;
  within?: string | number | boolean | Record<string, unknown>;
  'starts-with'?: string | Array<string>;
  matches?: string | Array<string>;
  exists?: boolean;
  absent?: boolean;
}

export interface Policy {
  description?: string;
  uses?: {
    ffprobe?: string;
    mediainfo?: string;
  };
  rules: Array<PolicyRule>;
}

export interface SavedPolicy {
  name: string;
  revision: number;
  created_at: string;
  user_id: number | null;
  description?: string;
  policy: Policy;
  revisions: Array<{
    revision: number;
    created_at: string;
    user_id: number | null;
  }>;
}

export interface PolicySaved {
  name: string;
  revision: number;
  changed: boolean;
  untranslated: Array<string>;
}

export interface PolicyEvaluation {
  name: string;
  revision: number | null;
  summary: {
    pass: number;
    fail: number;
    warn: number;
    'not-applicable': number;
    unknown: number;
  };
  results: Array<{
    request_id: string;
    policy: PolicyResult;
  }>;
}

export interface Waiver {
  id: string;
  source: string | null;
  check: 
    | 'black'
    | 'freeze'
    | 'silence'
    | 'phase'
    | 'letterbox'
    | 'test_bars'
    | 'test_tone'
    | 'errors'
    | 'clipping'
    | 'scan'
    | 'duration'
    | 'start'
    | 'end'
    | 'checksum'
    | null;
  stream: number | null;
  from: number | null;
  to: number | null;
  policy: string | null;
  rule: string | null;
  reason: string;
  by: string | null;
  user_id: number;
  created_at: string;
  until: string;
  revoked_at: string | null;
}

export type Kind = 'file' | 'msv' | 'c2pa' | 'compare' | 'cached';

export type LogState = 'success' | 'error' | 'with-errors';

export type ToolState = 'success' | 'error' | 'skipped';

export type PolicyState = 'pass' | 'fail' | 'warn' | 'not-applicable' | 'unknown' | 'skipped';

export interface LoggedRow {
  id: string;
  send: string;
  type: Kind;
  status: LogState;
  'status-ffprobe': ToolState;
  'status-mediainfo': ToolState;
  'status-probe-report': ToolState;
  'status-policy': PolicyState;
  policy?: string;
  'policy-revision'?: number;
  url: string;
  'user-id': number;
  'token-id': number;
  error?: string;
  'decoded-seconds': number;
}

export interface LogPage {
  count: number;
  limit: number;
  page: number;
  total: number;
  'total-is'?: 'exact' | 'at-least';
}

export interface LoggedRun {
  tool: string;
  version: string;
  side?: 'a' | 'b';
  response?: string;
}

export interface LoggedRequest {
  id: string;
  send: string;
  type: Kind;
  status: LogState;
  'status-ffprobe': ToolState;
  'status-mediainfo': ToolState;
  'status-probe-report': ToolState;
  'status-policy': PolicyState;
  policy?: string;
  'policy-revision'?: number;
  url: string;
  'user-id': number;
  'token-id': number;
  error?: string;
  'decoded-seconds': number;
  admitted?: string;
  ended: string;
  request: string;
  'tool-errors': Record<string, string>;
  'tool-error-codes': Record<string, string>;
  'tool-exit-codes': Record<string, number>;
  'ffprobe-response'?: string;
  'ffprobe-response-type'?: string;
  'mediainfo-response'?: string;
  'mediainfo-response-type'?: string;
  'probe-report-response'?: string;
  'probe-report-response-type'?: string;
  'msv-response'?: string;
  'c2pa-response'?: string;
  'qc-response'?: string;
  'qc-response-type'?: string;
  'policy-response'?: string;
  'qc-waived'?: string;
  'run-responses'?: Array<LoggedRun>;
  'comparison-response'?: string;
}

export interface MadeReportLink {
  id: string;
  request: string;
  'user-id': number;
  created: string;
  expires: string;
  url: string;
}

export interface ReportLink {
  id: string;
  request: string;
  'user-id': number;
  created: string;
  expires: string;
}

export type DeliveryState = 'pending' | 'delivered' | 'failed';

export interface DeliveryAttempt {
  time: string;
  status?: number;
  error?: string;
  duration: number;
}

export interface Delivery {
  id: string;
  request: string;
  url: string;
  state: DeliveryState;
  created: string;
  next?: string;
  ended?: string;
  attempts: Array<DeliveryAttempt>;
  'user-id': number;
  'token-id': number;
}

export type Aggregation = 
  | 'no-aggregation'
  | 'yearly'
  | 'monthly'
  | 'weekly'
  | 'daily'
  | 'hourly'
  | 'minutely'
  | 'secondly';

export interface Period {
  from: string;
  to: string;
}

export interface Waiting {
  reason: 
    | 'Queued'
    | 'TokenAtLimit'
    | 'AccountAtLimit'
    | 'AccountAtShare'
    | 'NoRunner'
    | 'IsolationMissing';
  text: string;
}

export interface Standing {
  success: true;
  metadata: Metadata;
  state: 'queued' | 'running';
  steps: {
    queued: string;
    admitted: string | null;
    running: string | null;
  };
  progress: number | null;
  waiting: Waiting | null;
}

export interface Calls {
  'POST auth/sign-up': {
    body: {
      email: string;
      password: string;
      'first-name'?: string;
      'last-name'?: string;
    };
    answer: {
      email: string;
      status: 'pending';
    };
  };
  'POST auth/verify': {
    body: {
      'verify-token': string;
      password?: string;
    };
    answer: {
      success: true;
      email: string;
      status: string;
    };
  };
  'POST auth/sign-in': {
    body: {
      email: string;
      password: string;
      'long-term-token'?: boolean;
      'logout-other'?: boolean;
      'current-user'?: boolean;
      'ret-url'?: string;
    };
    answer: {
      'api-token'?: string;
      'current-user'?: User;
      email: string;
      'jwt-token': {
        token: string;
        expire: string;
      };
      'oauth-provider-tokens': Array<unknown>;
      'ret-url'?: string;
      status: string;
      'user-id': number;
    };
  };
  'POST auth/sign-in/link': {
    body: {
      code: string;
    };
    answer: {
      email: string;
      'jwt-token': {
        token: string;
        expire: string;
      };
      status: string;
      'user-id': number;
    };
  };
  'GET auth/sso': {
    answer: SignInWays;
  };
  'POST auth/sso/:name/device': {
    answer: {
      'device-code': string;
      'user-code': string;
      url: string;
      'expires-in': number;
      interval: number;
    };
  };
  'POST auth/sso/:name/token': {
    body: {
      'device-code': string;
    };
    answer: {
      pending: boolean;
      'slow-down': boolean;
      token?: string;
      expires?: string;
      email?: string;
    };
  };
  'POST auth/reset': {
    body: {
      email: string;
    };
    answer: {
      success: true;
    };
  };
  'POST auth/reset/confirm': {
    body: {
      'reset-token': string;
      'new-password': string;
    };
    answer: {
      success: true;
      email: string;
      status: string;
    };
  };
  'DELETE auth/sign-out': {
    query: {
      'logout-all'?: boolean;
      'ret-url'?: string;
    };
    answer: {
      success: true;
      'ret-url'?: string;
    };
  };
  'POST auth/jwt': {
    body: {
      'long-term-token'?: boolean;
    };
    answer: {
      token: string;
      expire: string;
    };
  };
  'GET auth/session': {
    query: {
      'include-expired'?: boolean;
    };
    answer: {
      sessions: Array<Session>;
    };
  };
  'DELETE auth/session': {
    answer: undefined;
  };
  'DELETE auth/session/:id': {
    answer: undefined;
  };
  'PUT auth/current/password': {
    body: {
      'old-password': string;
      'new-password': string;
      'logout-all'?: boolean;
    };
    answer: undefined;
  };
  'PUT auth/:id/password': {
    body: {
      'old-password': string;
      'new-password': string;
      'logout-all'?: boolean;
    };
    answer: undefined;
  };
  'GET auth/api-token': {
    query: {
      'user-id'?: Array<number>;
      pagination?: {
        page?: number;
        limit?: number;
      };
      sort?: {
        field?: 'id' | 'name' | 'created' | 'updated';
        order?: 'asc' | 'desc';
      };
    };
    answer: {
      filter: object;
      'api-tokens': Array<ListedApiToken>;
      pagination: ListPage;
      sort: ListOrder;
    };
  };
  'POST auth/api-token': {
    body: {
      name?: string;
      ttl?: number | null;
      permissions?: Array<Permission> | null;
      limits?: {
        'requests-per-minute'?: number | null;
        concurrency?: number | null;
        'queue-timeout'?: number | null;
        'file-size'?: number | null;
        'cache-max-age'?: number | null;
        'monthly-quota'?: {
          'request-count'?: number | null;
          'processing-time'?: number | null;
          'data-processed'?: number | null;
          'decoded-seconds'?: number | null;
        } | null;
      };
    };
    answer: ApiToken;
  };
  'GET auth/api-token/:id': {
    answer: ApiToken;
  };
  'PUT auth/api-token/:id': {
    body: {
      name?: string;
      ttl?: number | null;
      permissions?: Array<Permission> | null;
      limits?: {
        'requests-per-minute'?: number | null;
        concurrency?: number | null;
        'queue-timeout'?: number | null;
        'file-size'?: number | null;
        'cache-max-age'?: number | null;
        'monthly-quota'?: {
          'request-count'?: number | null;
          'processing-time'?: number | null;
          'data-processed'?: number | null;
          'decoded-seconds'?: number | null;
        } | null;
      };
      rotate?: boolean;
      'rotate-webhook-secret'?: boolean;
    };
    answer: ApiToken;
  };
  'DELETE auth/api-token/:id': {
    answer: undefined;
  };
  'GET user': {
    query: {
      status?: Array<UserStatus>;
      email?: string | null;
      id?: Array<number>;
      pagination?: {
        page?: number;
        limit?: number;
      };
      sort?: {
        field?: 'id' | 'username' | 'email' | 'status' | 'created' | 'updated';
        order?: 'asc' | 'desc';
      };
    };
    answer: {
      filter: object;
      users: Array<ListedUser>;
      pagination: ListPage;
      sort: ListOrder;
    };
  };
  'GET user/current': {
    answer: User;
  };
  'PUT user/current': {
    body: {
      'first-name'?: string;
      'last-name'?: string;
    };
    answer: User;
  };
  'POST user/current': {
    body: {
      email: string;
      'first-name'?: string;
      'last-name'?: string;
      permissions?: Array<Permission>;
      restrictions?: Array<Permission>;
    };
    answer: {
      user: User;
    };
  };
  'GET user/:id': {
    answer: User;
  };
  'PUT user/:id/status': {
    body: {
      status: UserStatus;
    };
    answer: User;
  };
  'GET user/:id/limits': {
    answer: UserLimits;
  };
  'PUT user/:id/limits': {
    body: {
      'requests-per-minute'?: number | null;
      concurrency?: number | null;
      'queue-timeout'?: number | null;
      'file-size'?: number | null;
      'cache-max-age'?: number | null;
      'monthly-quota'?: {
        'request-count'?: number | null;
        'processing-time'?: number | null;
        'data-processed'?: number | null;
        'decoded-seconds'?: number | null;
      } | null;
      'account-concurrency'?: number | null;
    };
    answer: UserLimits;
  };
  'GET user/:id/labels': {
    answer: AccountLabels;
  };
  'PUT user/:id/labels': {
    body: {
      labels: Record<string, string | null>;
    };
    answer: AccountLabels;
  };
  'GET cluster': {
    answer: ClusterState;
  };
  'GET audit': {
    query: {
      time?: {
        from?: string | null;
        to?: string | null;
      };
      'user-id'?: Array<number>;
      action?: Array<string>;
      subject?: Array<string>;
      outcome?: Array<AuditOutcome>;
      pagination?: {
        page?: number;
        limit?: number;
      };
      sort?: {
        field?: 'time';
        order?: 'asc' | 'desc';
      };
    };
    answer: {
      filter: object;
      entries: Array<AuditEntry>;
      pagination: ListPage;
      sort: ListOrder;
    };
  };
  'GET audit/export': {
    query: {
      time?: {
        from?: string | null;
        to?: string | null;
      };
      'user-id'?: Array<number>;
      action?: Array<string>;
      subject?: Array<string>;
      outcome?: Array<AuditOutcome>;
    };
    answer: AuditEntry;
  };
  'GET /v1/versions': {
    answer: Versions;
  };
  'GET /v1/samples': {
    answer: Samples;
  };
  'POST /v1/probe/file': {
    body: {
      url?: string;
      file?: string;
      headers?: Record<string, string> | null;
      cookies?: Record<string, string> | null;
      credential?: string | null;
      timeout?: number;
      queue_timeout?: number;
      only?: 
        | 'ffprobe'
        | 'mediainfo'
        | 'probe_report'
        | 'mediastreamvalidator'
        | 'c2pa'
        | 'qc'
        | null;
      inject_output?: boolean;
      output?: 'json';
      inject_json?: boolean;
      timeline?: {
        enabled?: boolean;
      };
      cache?: {
        max_age?: number | null;
      };
      policy?: string | Record<string, unknown> | null;
      webhook_url?: string | null;
      webhook_format?: 'plain' | 'cloudevents';
      ffprobe?: {
        enabled?: boolean;
        version?: string;
        timeout?: number;
        output_format?: string;
        show_format?: boolean;
        show_streams?: boolean;
        show_programs?: boolean;
        show_chapters?: boolean;
        show_error?: boolean;
        show_frames?: boolean;
        show_packets?: boolean;
        show_data?: boolean;
        show_data_hash?: boolean;
        show_private_data?: boolean;
        count_frames?: boolean;
        count_packets?: boolean;
        unit?: boolean;
        prefix?: boolean;
        byte_binary_prefix?: boolean;
        sexagesimal?: boolean;
        skip_estimate_duration_from_pts?: boolean;
        tls_verify?: boolean;
        show_entries?: string | null;
        select_streams?: string | null;
        read_intervals?: string | null;
        show_log?: 
          | 'quiet'
          | 'panic'
          | 'fatal'
          | 'error'
          | 'warning'
          | 'info'
          | 'verbose'
          | 'debug'
          | 'trace'
          | null;
        skip_frame?: 'none' | 'default' | 'noref' | 'bidir' | 'nokey' | 'nointra' | 'all' | null;
        probesize?: number;
        analyzeduration?: number;
        max_probe_packets?: number;
        max_ts_probe?: number;
        show_stream_groups?: boolean;
        show_program_version?: boolean;
        show_library_versions?: boolean;
        show_versions?: boolean;
        show_pixel_formats?: boolean;
        bitexact?: boolean;
        analyze_frames?: boolean;
        show_optional_fields?: 'always' | 'never' | 'auto' | null;
        fflags?: string | null;
        err_detect?: string | null;
        export_side_data?: string | null;
        formatprobesize?: number | null;
        fpsprobesize?: number | null;
        max_streams?: number | null;
        correct_ts_overflow?: number | null;
        threads?: number | null;
        scan_all_pmts?: number | null;
        merge_pmt_versions?: number | null;
        skip_changes?: number | null;
        resync_size?: number | null;
        ignore_editlist?: number | null;
        advanced_editlist?: number | null;
        live_start_index?: number | null;
      };
      mediainfo?: {
        enabled?: boolean;
        version?: string;
        timeout?: number;
        output?: 
          | 'Text'
          | 'HTML'
          | 'XML'
          | 'JSON'
          | 'EBUCore_1.8_ps'
          | 'EBUCore_1.8_sp'
          | 'EBUCore_1.8_ps_JSON'
          | 'EBUCore_1.8_sp_JSON'
          | 'EBUCore_1.6'
          | 'FIMS_1.3'
          | 'MPEG-7_Strict'
          | 'MPEG-7_Relaxed'
          | 'MPEG-7_Extended'
          | 'PBCore_2.1'
          | 'PBCore_2.0'
          | 'PBCore_1.2'
          | 'NISO_Z39.87';
        full?: boolean;
        language?: string;
        parse_speed?: number;
        read_by_human?: boolean;
        details?: boolean;
        inform?: string | null;
        cover_data?: boolean;
        acquisition_data_output_mode?: 'segmentParameter' | 'parameterSegment' | null;
        hide_parameter?: string | null;
        show_parameter?: string | null;
        legacy_stream_display?: boolean;
        inform_version?: boolean;
        inform_timestamp?: boolean;
        ssl_ignore_security?: boolean;
      };
      probe_report?: {
        enabled?: boolean;
        diff?: boolean;
        prefer?: 'ffprobe' | 'mediainfo' | null;
        frames?: 'auto' | 'never' | 'always';
      };
      mediastreamvalidator?: {
        enabled?: boolean;
        parse_playlist_only?: boolean;
        measure_all_segments?: boolean;
        enable_cli_output?: boolean;
        enable_playlist_text?: boolean;
      };
      c2pa?: {
        enabled?: boolean;
      };
      qc?: {
        enabled?: boolean;
        version?: string;
        timeout?: number;
        black_min?: number;
        black_pixel?: number;
        freeze_min?: number;
        freeze_noise?: number;
        silence_min?: number;
        silence_noise?: number;
        phase_min?: number;
        letterbox_min?: number;
        test_bars_min?: number;
        test_tone_min?: number;
        pictures?: boolean;
        private_pictures?: boolean;
        integrity?: boolean;
        sha256?: string | null;
        md5?: string | null;
      };
    };
    answer: 
      | Envelope
      | ProbeReport
      | HlsReport
      | C2paReport
      | QcReport
      | FailedOutput
      | BareOutput;
  };
  'POST /v1/probe/mediastreamvalidator': {
    body: {
      url: string;
      headers?: Record<string, string> | null;
      cookies?: Record<string, string> | null;
      credential?: string | null;
      timeout?: number;
      queue_timeout?: number;
      inject_output?: boolean;
      inject_json?: boolean;
      policy?: string | Record<string, unknown> | null;
      webhook_url?: string | null;
      webhook_format?: 'plain' | 'cloudevents';
      parse_playlist_only?: boolean;
      measure_all_segments?: boolean;
      enable_cli_output?: boolean;
      enable_playlist_text?: boolean;
    };
    answer: MsvEnvelope | HlsReport | FailedOutput;
  };
  'POST /v1/probe/c2pa': {
    body: {
      url: string;
      headers?: Record<string, string> | null;
      cookies?: Record<string, string> | null;
      credential?: string | null;
      timeout?: number;
      queue_timeout?: number;
      inject_output?: boolean;
      inject_json?: boolean;
      policy?: string | Record<string, unknown> | null;
      webhook_url?: string | null;
      webhook_format?: 'plain' | 'cloudevents';
    };
    answer: C2paEnvelope | C2paReport | FailedOutput;
  };
  'POST /v1/probe/qc': {
    body: {
      url?: string;
      file?: string;
      headers?: Record<string, string> | null;
      cookies?: Record<string, string> | null;
      credential?: string | null;
      timeout?: number;
      queue_timeout?: number;
      cache?: {
        max_age?: number | null;
      };
      policy?: string | Record<string, unknown> | null;
      webhook_url?: string | null;
      webhook_format?: 'plain' | 'cloudevents';
      qc?: {
        version?: string;
        timeout?: number;
        black_min?: number;
        black_pixel?: number;
        freeze_min?: number;
        freeze_noise?: number;
        silence_min?: number;
        silence_noise?: number;
        phase_min?: number;
        letterbox_min?: number;
        test_bars_min?: number;
        test_tone_min?: number;
        pictures?: boolean;
        private_pictures?: boolean;
        integrity?: boolean;
        sha256?: string | null;
        md5?: string | null;
      };
    };
    answer: Envelope;
  };
  'GET /v1/probe/:id': {
    answer: Envelope | MsvEnvelope | C2paEnvelope | ComparisonAnswer;
  };
  'POST /v1/probe/:id/cancel': {
    answer: Accepted;
  };
  'GET /v1/probe/:id/policy': {
    query: {
      format?: 'json' | 'junit' | 'sarif';
    };
    answer: PolicyResult;
  };
  'GET /v1/probe/:id/timeline': {
    answer: Timeline;
  };
  'GET /v1/probe/:id/pictures': {
    answer: Pictures;
  };
  'POST /v1/batch': {
    body: {
      name?: string | null;
      probe?: {
        credential?: string | null;
        timeout?: number;
        queue_timeout?: number;
        only?: 
          | 'ffprobe'
          | 'mediainfo'
          | 'probe_report'
          | 'mediastreamvalidator'
          | 'c2pa'
          | 'qc'
          | null;
        inject_json?: boolean;
        cache?: {
          max_age?: number | null;
        };
        ffprobe?: {
          enabled?: boolean;
          version?: string;
          timeout?: number;
          output_format?: string;
          show_format?: boolean;
          show_streams?: boolean;
          show_programs?: boolean;
          show_chapters?: boolean;
          show_error?: boolean;
          show_frames?: boolean;
          show_packets?: boolean;
          show_data?: boolean;
          show_data_hash?: boolean;
          show_private_data?: boolean;
          count_frames?: boolean;
          count_packets?: boolean;
          unit?: boolean;
          prefix?: boolean;
          byte_binary_prefix?: boolean;
          sexagesimal?: boolean;
          skip_estimate_duration_from_pts?: boolean;
          tls_verify?: boolean;
          show_entries?: string | null;
          select_streams?: string | null;
          read_intervals?: string | null;
          show_log?: 
            | 'quiet'
            | 'panic'
            | 'fatal'
            | 'error'
            | 'warning'
            | 'info'
            | 'verbose'
            | 'debug'
            | 'trace'
            | null;
          skip_frame?: 'none' | 'default' | 'noref' | 'bidir' | 'nokey' | 'nointra' | 'all' | null;
          probesize?: number;
          analyzeduration?: number;
          max_probe_packets?: number;
          max_ts_probe?: number;
          show_stream_groups?: boolean;
          show_program_version?: boolean;
          show_library_versions?: boolean;
          show_versions?: boolean;
          show_pixel_formats?: boolean;
          bitexact?: boolean;
          analyze_frames?: boolean;
          show_optional_fields?: 'always' | 'never' | 'auto' | null;
          fflags?: string | null;
          err_detect?: string | null;
          export_side_data?: string | null;
          formatprobesize?: number | null;
          fpsprobesize?: number | null;
          max_streams?: number | null;
          correct_ts_overflow?: number | null;
          threads?: number | null;
          scan_all_pmts?: number | null;
          merge_pmt_versions?: number | null;
          skip_changes?: number | null;
          resync_size?: number | null;
          ignore_editlist?: number | null;
          advanced_editlist?: number | null;
          live_start_index?: number | null;
        };
        mediainfo?: {
          enabled?: boolean;
          version?: string;
          timeout?: number;
          output?: 
            | 'Text'
            | 'HTML'
            | 'XML'
            | 'JSON'
            | 'EBUCore_1.8_ps'
            | 'EBUCore_1.8_sp'
            | 'EBUCore_1.8_ps_JSON'
            | 'EBUCore_1.8_sp_JSON'
            | 'EBUCore_1.6'
            | 'FIMS_1.3'
            | 'MPEG-7_Strict'
            | 'MPEG-7_Relaxed'
            | 'MPEG-7_Extended'
            | 'PBCore_2.1'
            | 'PBCore_2.0'
            | 'PBCore_1.2'
            | 'NISO_Z39.87';
          full?: boolean;
          language?: string;
          parse_speed?: number;
          read_by_human?: boolean;
          details?: boolean;
          inform?: string | null;
          cover_data?: boolean;
          acquisition_data_output_mode?: 'segmentParameter' | 'parameterSegment' | null;
          hide_parameter?: string | null;
          show_parameter?: string | null;
          legacy_stream_display?: boolean;
          inform_version?: boolean;
          inform_timestamp?: boolean;
          ssl_ignore_security?: boolean;
        };
        probe_report?: {
          enabled?: boolean;
          diff?: boolean;
          prefer?: 'ffprobe' | 'mediainfo' | null;
          frames?: 'auto' | 'never' | 'always';
        };
        mediastreamvalidator?: {
          enabled?: boolean;
          parse_playlist_only?: boolean;
          measure_all_segments?: boolean;
          enable_cli_output?: boolean;
          enable_playlist_text?: boolean;
        };
        c2pa?: {
          enabled?: boolean;
        };
        qc?: {
          enabled?: boolean;
          version?: string;
          timeout?: number;
          black_min?: number;
          black_pixel?: number;
          freeze_min?: number;
          freeze_noise?: number;
          silence_min?: number;
          silence_noise?: number;
          phase_min?: number;
          letterbox_min?: number;
          test_bars_min?: number;
          test_tone_min?: number;
          pictures?: boolean;
          private_pictures?: boolean;
          integrity?: boolean;
          sha256?: string | null;
          md5?: string | null;
        };
        policy?: string | null;
      };
      concurrency?: number | null;
      rate?: number | null;
      per_host?: number;
      tries?: number;
      max_requests?: number | null;
      max_bytes?: number | null;
      items_url?: string | null;
      from?: {
        batch: string;
        only?: 'failed' | 'changed' | 'all';
      };
      bucket?: {
        url: string;
        include?: Array<string>;
        exclude?: Array<string>;
        min_bytes?: number | null;
        max_bytes?: number | null;
        modified_after?: string | null;
        modified_before?: string | null;
      };
      webhook_url?: string | null;
      webhook_format?: 'plain' | 'cloudevents';
      webhook_every?: number | null;
      tag_objects?: boolean;
      webhook_items?: boolean;
      deadline?: number;
      items?: Array<unknown>;
    };
    answer: Batch;
  };
  'GET /v1/batch': {
    query: {
      limit?: number;
      before?: string | null;
      source?: string | null;
    };
    answer: {
      batches: Array<BatchRow>;
      next: string | null;
    };
  };
  'GET /v1/batch/:id': {
    answer: Batch;
  };
  'GET /v1/batch/:id/items': {
    query: {
      after?: number | null;
      limit?: number;
      state?: 'waiting' | 'running' | 'success' | 'with-errors' | 'error' | 'skipped' | null;
      code?: string | null;
      container?: string | null;
      video_codec?: string | null;
      audio_codec?: string | null;
      hdr?: string | null;
      policy?: string | null;
      rule?: string | null;
    };
    answer: {
      items: Array<BatchItem>;
      next: number | null;
    };
  };
  'GET /v1/batch/:id/results': {
    query: {
      format?: 'ndjson' | 'csv' | 'parquet';
      state?: 'waiting' | 'running' | 'success' | 'with-errors' | 'error' | 'skipped' | null;
      code?: string | null;
      container?: string | null;
      video_codec?: string | null;
      audio_codec?: string | null;
      hdr?: string | null;
      policy?: string | null;
      rule?: string | null;
    };
    answer: BatchItem;
  };
  'GET /v1/batch/:id/diff': {
    query: {
      against: string;
      after?: number | null;
    };
    answer: BatchDiff;
  };
  'POST /v1/batch/:id/pause': {
    answer: Batch;
  };
  'POST /v1/batch/:id/resume': {
    body: {
      max_requests?: number | null;
      max_bytes?: number | null;
    };
    answer: Batch;
  };
  'POST /v1/batch/:id/cancel': {
    answer: Batch;
  };
  'POST /v1/source': {
    body: {
      name?: string | null;
      probe?: {
        credential?: string | null;
        timeout?: number;
        queue_timeout?: number;
        only?: 
          | 'ffprobe'
          | 'mediainfo'
          | 'probe_report'
          | 'mediastreamvalidator'
          | 'c2pa'
          | 'qc'
          | null;
        inject_json?: boolean;
        cache?: {
          max_age?: number | null;
        };
        ffprobe?: {
          enabled?: boolean;
          version?: string;
          timeout?: number;
          output_format?: string;
          show_format?: boolean;
          show_streams?: boolean;
          show_programs?: boolean;
          show_chapters?: boolean;
          show_error?: boolean;
          show_frames?: boolean;
          show_packets?: boolean;
          show_data?: boolean;
          show_data_hash?: boolean;
          show_private_data?: boolean;
          count_frames?: boolean;
          count_packets?: boolean;
          unit?: boolean;
          prefix?: boolean;
          byte_binary_prefix?: boolean;
          sexagesimal?: boolean;
          skip_estimate_duration_from_pts?: boolean;
          tls_verify?: boolean;
          show_entries?: string | null;
          select_streams?: string | null;
          read_intervals?: string | null;
          show_log?: 
            | 'quiet'
            | 'panic'
            | 'fatal'
            | 'error'
            | 'warning'
            | 'info'
            | 'verbose'
            | 'debug'
            | 'trace'
            | null;
          skip_frame?: 'none' | 'default' | 'noref' | 'bidir' | 'nokey' | 'nointra' | 'all' | null;
          probesize?: number;
          analyzeduration?: number;
          max_probe_packets?: number;
          max_ts_probe?: number;
          show_stream_groups?: boolean;
          show_program_version?: boolean;
          show_library_versions?: boolean;
          show_versions?: boolean;
          show_pixel_formats?: boolean;
          bitexact?: boolean;
          analyze_frames?: boolean;
          show_optional_fields?: 'always' | 'never' | 'auto' | null;
          fflags?: string | null;
          err_detect?: string | null;
          export_side_data?: string | null;
          formatprobesize?: number | null;
          fpsprobesize?: number | null;
          max_streams?: number | null;
          correct_ts_overflow?: number | null;
          threads?: number | null;
          scan_all_pmts?: number | null;
          merge_pmt_versions?: number | null;
          skip_changes?: number | null;
          resync_size?: number | null;
          ignore_editlist?: number | null;
          advanced_editlist?: number | null;
          live_start_index?: number | null;
        };
        mediainfo?: {
          enabled?: boolean;
          version?: string;
          timeout?: number;
          output?: 
            | 'Text'
            | 'HTML'
            | 'XML'
            | 'JSON'
            | 'EBUCore_1.8_ps'
            | 'EBUCore_1.8_sp'
            | 'EBUCore_1.8_ps_JSON'
            | 'EBUCore_1.8_sp_JSON'
            | 'EBUCore_1.6'
            | 'FIMS_1.3'
            | 'MPEG-7_Strict'
            | 'MPEG-7_Relaxed'
            | 'MPEG-7_Extended'
            | 'PBCore_2.1'
            | 'PBCore_2.0'
            | 'PBCore_1.2'
            | 'NISO_Z39.87';
          full?: boolean;
          language?: string;
          parse_speed?: number;
          read_by_human?: boolean;
          details?: boolean;
          inform?: string | null;
          cover_data?: boolean;
          acquisition_data_output_mode?: 'segmentParameter' | 'parameterSegment' | null;
          hide_parameter?: string | null;
          show_parameter?: string | null;
          legacy_stream_display?: boolean;
          inform_version?: boolean;
          inform_timestamp?: boolean;
          ssl_ignore_security?: boolean;
        };
        probe_report?: {
          enabled?: boolean;
          diff?: boolean;
          prefer?: 'ffprobe' | 'mediainfo' | null;
          frames?: 'auto' | 'never' | 'always';
        };
        mediastreamvalidator?: {
          enabled?: boolean;
          parse_playlist_only?: boolean;
          measure_all_segments?: boolean;
          enable_cli_output?: boolean;
          enable_playlist_text?: boolean;
        };
        c2pa?: {
          enabled?: boolean;
        };
        qc?: {
          enabled?: boolean;
          version?: string;
          timeout?: number;
          black_min?: number;
          black_pixel?: number;
          freeze_min?: number;
          freeze_noise?: number;
          silence_min?: number;
          silence_noise?: number;
          phase_min?: number;
          letterbox_min?: number;
          test_bars_min?: number;
          test_tone_min?: number;
          pictures?: boolean;
          private_pictures?: boolean;
          integrity?: boolean;
          sha256?: string | null;
          md5?: string | null;
        };
        policy?: string | null;
      };
      concurrency?: number | null;
      rate?: number | null;
      per_host?: number;
      tries?: number;
      max_requests?: number | null;
      max_bytes?: number | null;
      webhook_url?: string | null;
      webhook_format?: 'plain' | 'cloudevents';
      webhook_every?: number | null;
      tag_objects?: boolean;
      webhook_items?: boolean;
      deadline?: number;
      bucket: {
        url: string;
        include?: Array<string>;
        exclude?: Array<string>;
        min_bytes?: number | null;
        max_bytes?: number | null;
        modified_after?: string | null;
        modified_before?: string | null;
      };
      every?: number | null;
      settle?: number;
      bundle?: number;
      existing?: boolean;
    };
    answer: {
      id: string;
      name: string | null;
      state: 'running' | 'paused' | 'stopped' | 'deleting';
      reason: string | null;
      text: string | null;
      created_at: string;
      url: string;
      every: number | null;
      settle: number;
      bundle: number;
      existing: boolean;
      objects: number;
      waiting: number;
      next_listing_at: string | null;
      events: {
        noted: number;
        ignored: number;
        last_at: string | null;
        confirmation_waiting: boolean;
        confirmation_host: string | null;
      };
      last_listing: {
        at: string;
        error: string | null;
        found: number;
        filtered: number;
        left_out: number;
      } | null;
      events_key: string;
    };
  };
  'GET /v1/source': {
    query: {
      limit?: number;
      before?: string | null;
    };
    answer: {
      sources: Array<Source>;
      next: string | null;
    };
  };
  'GET /v1/source/:id': {
    answer: {
      id: string;
      name: string | null;
      state: 'running' | 'paused' | 'stopped' | 'deleting';
      reason: string | null;
      text: string | null;
      created_at: string;
      url: string;
      every: number | null;
      settle: number;
      bundle: number;
      existing: boolean;
      objects: number;
      waiting: number;
      next_listing_at: string | null;
      events: {
        noted: number;
        ignored: number;
        last_at: string | null;
        confirmation_waiting: boolean;
        confirmation_host: string | null;
      };
      last_listing: {
        at: string;
        error: string | null;
        found: number;
        filtered: number;
        left_out: number;
      } | null;
      request: object;
    };
  };
  'DELETE /v1/source/:id': {
    answer: Source;
  };
  'POST /v1/source/:id/pause': {
    answer: Source;
  };
  'POST /v1/source/:id/resume': {
    answer: Source;
  };
  'POST /v1/source/:id/list': {
    answer: Source;
  };
  'POST /v1/source/:id/key': {
    answer: {
      id: string;
      name: string | null;
      state: 'running' | 'paused' | 'stopped' | 'deleting';
      reason: string | null;
      text: string | null;
      created_at: string;
      url: string;
      every: number | null;
      settle: number;
      bundle: number;
      existing: boolean;
      objects: number;
      waiting: number;
      next_listing_at: string | null;
      events: {
        noted: number;
        ignored: number;
        last_at: string | null;
        confirmation_waiting: boolean;
        confirmation_host: string | null;
      };
      last_listing: {
        at: string;
        error: string | null;
        found: number;
        filtered: number;
        left_out: number;
      } | null;
      events_key: string;
    };
  };
  'POST /v1/compare': {
    body: {
      url?: string;
      urls?: Array<string>;
      headers?: Record<string, string> | null;
      cookies?: Record<string, string> | null;
      credential?: string | null;
      request_ids?: Array<string>;
      ffprobe?: {
        versions?: Array<string>;
        version?: string;
        timeout?: number;
        output_format?: string;
        show_format?: boolean;
        show_streams?: boolean;
        show_programs?: boolean;
        show_chapters?: boolean;
        show_error?: boolean;
        show_frames?: boolean;
        show_packets?: boolean;
        show_data?: boolean;
        show_data_hash?: boolean;
        show_private_data?: boolean;
        count_frames?: boolean;
        count_packets?: boolean;
        unit?: boolean;
        prefix?: boolean;
        byte_binary_prefix?: boolean;
        sexagesimal?: boolean;
        skip_estimate_duration_from_pts?: boolean;
        tls_verify?: boolean;
        show_entries?: string | null;
        select_streams?: string | null;
        read_intervals?: string | null;
        show_log?: 
          | 'quiet'
          | 'panic'
          | 'fatal'
          | 'error'
          | 'warning'
          | 'info'
          | 'verbose'
          | 'debug'
          | 'trace'
          | null;
        skip_frame?: 'none' | 'default' | 'noref' | 'bidir' | 'nokey' | 'nointra' | 'all' | null;
        probesize?: number;
        analyzeduration?: number;
        max_probe_packets?: number;
        max_ts_probe?: number;
        show_stream_groups?: boolean;
        show_program_version?: boolean;
        show_library_versions?: boolean;
        show_versions?: boolean;
        show_pixel_formats?: boolean;
        bitexact?: boolean;
        analyze_frames?: boolean;
        show_optional_fields?: 'always' | 'never' | 'auto' | null;
        fflags?: string | null;
        err_detect?: string | null;
        export_side_data?: string | null;
        formatprobesize?: number | null;
        fpsprobesize?: number | null;
        max_streams?: number | null;
        correct_ts_overflow?: number | null;
        threads?: number | null;
        scan_all_pmts?: number | null;
        merge_pmt_versions?: number | null;
        skip_changes?: number | null;
        resync_size?: number | null;
        ignore_editlist?: number | null;
        advanced_editlist?: number | null;
        live_start_index?: number | null;
      };
      mediainfo?: {
        versions?: Array<string>;
        version?: string;
        timeout?: number;
        output?: 
          | 'Text'
          | 'HTML'
          | 'XML'
          | 'JSON'
          | 'EBUCore_1.8_ps'
          | 'EBUCore_1.8_sp'
          | 'EBUCore_1.8_ps_JSON'
          | 'EBUCore_1.8_sp_JSON'
          | 'EBUCore_1.6'
          | 'FIMS_1.3'
          | 'MPEG-7_Strict'
          | 'MPEG-7_Relaxed'
          | 'MPEG-7_Extended'
          | 'PBCore_2.1'
          | 'PBCore_2.0'
          | 'PBCore_1.2'
          | 'NISO_Z39.87';
        full?: boolean;
        language?: string;
        parse_speed?: number;
        read_by_human?: boolean;
        details?: boolean;
        inform?: string | null;
        cover_data?: boolean;
        acquisition_data_output_mode?: 'segmentParameter' | 'parameterSegment' | null;
        hide_parameter?: string | null;
        show_parameter?: string | null;
        legacy_stream_display?: boolean;
        inform_version?: boolean;
        inform_timestamp?: boolean;
        ssl_ignore_security?: boolean;
      };
      timeout?: number;
      queue_timeout?: number;
      webhook_url?: string | null;
      webhook_format?: 'plain' | 'cloudevents';
    };
    answer: ComparisonAnswer;
  };
  'POST /v1/compare/report': {
    body: {
      request_ids: Array<string>;
      policies?: Array<string>;
    };
    answer: UpgradeReport;
  };
  'GET /v1/policy': {
    answer: {
      policies: Array<PolicyRow>;
    };
  };
  'GET /v1/policy/:name': {
    query: {
      revision?: number | null;
    };
    answer: SavedPolicy;
  };
  'GET /v1/policy/shared/:name': {
    query: {
      revision?: number | null;
    };
    answer: SavedPolicy;
  };
  'PUT /v1/policy/:name': {
    body: Policy;
    answer: PolicySaved;
  };
  'DELETE /v1/policy/:name': {
    answer: undefined;
  };
  'POST /v1/policy/:name/evaluate': {
    body: {
      request_ids: Array<string>;
      revision?: number | null;
      policy?: string;
    };
    answer: PolicyEvaluation;
  };
  'GET /v1/waivers': {
    query: {
      ended?: boolean;
      limit?: number;
      before?: string | null;
    };
    answer: {
      waivers: Array<Waiver>;
      next: string | null;
    };
  };
  'POST /v1/waivers': {
    body: {
      source?: string | null;
      request_id?: string | null;
      check?: 
        | 'black'
        | 'freeze'
        | 'silence'
        | 'phase'
        | 'letterbox'
        | 'test_bars'
        | 'test_tone'
        | 'errors'
        | 'clipping'
        | 'scan'
        | 'duration'
        | 'start'
        | 'end'
        | 'checksum'
        | null;
      stream?: number | null;
      from?: number | null;
      to?: number | null;
      policy?: string | null;
      rule?: string | null;
      reason: string;
      until: string;
    };
    answer: Waiver;
  };
  'DELETE /v1/waivers/:id': {
    answer: undefined;
  };
  'GET media/log': {
    query: {
      type?: Array<Kind>;
      status?: Array<LogState>;
      'status-ffprobe'?: Array<ToolState>;
      'status-mediainfo'?: Array<ToolState>;
      'status-probe-report'?: Array<ToolState>;
      'status-policy'?: Array<PolicyState>;
      policy?: Array<string>;
      send?: {
        from?: string | null;
        to?: string | null;
      };
      'user-id'?: Array<number>;
      'token-id'?: Array<number>;
      url?: string | null;
      request?: string | null;
      pagination?: {
        page?: number;
        limit?: number;
        total?: 'exact' | 'at-least';
      };
      sort?: {
        field?: 
          | 'send'
          | 'user-id'
          | 'url'
          | 'status'
          | 'status-ffprobe'
          | 'status-mediainfo'
          | 'status-probe-report'
          | 'status-policy';
        order?: 'asc' | 'desc';
      };
    };
    answer: {
      filter: object;
      log: Array<LoggedRow>;
      pagination: LogPage;
      sort: ListOrder;
    };
  };
  'GET media/log/:id': {
    answer: LoggedRequest;
  };
  'DELETE media/log/:id': {
    answer: undefined;
  };
  'GET media/log/:id/report': {
    answer: string;
  };
  'POST media/log/:id/link': {
    body: {
      hours?: number;
    };
    answer: MadeReportLink;
  };
  'GET media/link': {
    query: {
      request?: string | null;
    };
    answer: {
      links: Array<ReportLink>;
    };
  };
  'DELETE media/link/:id': {
    answer: undefined;
  };
  'GET media/webhook': {
    query: {
      state?: Array<DeliveryState>;
      request?: string | null;
      'user-id'?: Array<number>;
      'token-id'?: Array<number>;
      pagination?: {
        page?: number;
        limit?: number;
      };
      sort?: {
        field?: 'created' | 'next' | 'state';
        order?: 'asc' | 'desc';
      };
    };
    answer: {
      filter: object;
      webhooks: Array<Delivery>;
      pagination: ListPage;
      sort: ListOrder;
    };
  };
  'POST media/webhook/:id/retry': {
    answer: Delivery;
  };
  'GET statistics/chargeback': {
    query: {
      month?: string | null;
      format?: 'csv' | 'ndjson';
    };
    answer: string;
  };
  'GET statistics/usage': {
    query: {
      date?: {
        from?: string | null;
        to?: string | null;
      };
      aggregation?: Aggregation;
      'user-id'?: Array<number>;
      'token-id'?: Array<number>;
    };
    answer: {
      aggregation: Aggregation;
      period: Period;
      'users-usage': Array<{
        'user-id': number;
        'aggregated-usage': Array<{
          'aggregation-time': string;
          resources: {
            'request-count': number;
            'processing-time': number;
            'data-processed': number;
            'queue-time': number;
            'decoded-seconds': number;
          };
        }>;
      }>;
    };
  };
  'GET statistics/queue': {
    query: {
      date?: {
        from?: string | null;
        to?: string | null;
      };
      aggregation?: Aggregation;
      'user-id'?: Array<number>;
      'token-id'?: Array<number>;
    };
    answer: {
      aggregation: Aggregation;
      period: Period;
      'users-usage': Array<{
        'user-id': number;
        'aggregated-usage': Array<{
          'aggregation-time': string;
          resources: {
            'request-count': number;
            'queue-time-average': number;
            'queue-time-p95': number;
            'queue-time-maximum': number;
            'timed-out': number;
          };
        }>;
      }>;
    };
  };
  'GET statistics/requests': {
    query: {
      date?: {
        from?: string | null;
        to?: string | null;
      };
      aggregation?: Aggregation;
      'user-id'?: Array<number>;
      'token-id'?: Array<number>;
    };
    answer: {
      aggregation: Aggregation;
      period: Period;
      'users-usage': Array<{
        'user-id': number;
        'aggregated-usage': Array<{
          'aggregation-time': string;
          resources: {
            file: number;
            msv: number;
            c2pa: number;
            compare: number;
            cached: number;
            success: number;
            'with-errors': number;
            error: number;
          };
        }>;
      }>;
    };
  };
  'GET statistics/sources': {
    query: {
      date?: {
        from?: string | null;
        to?: string | null;
      };
      aggregation?: Aggregation;
      'user-id'?: Array<number>;
      'token-id'?: Array<number>;
    };
    answer: {
      aggregation: Aggregation;
      period: Period;
      'users-usage': Array<{
        'user-id': number;
        'aggregated-usage': Array<{
          'aggregation-time': string;
          resources: {
            hls: number;
            dash: number;
            http: number;
            https: number;
            s3: number;
            ftp: number;
            rtmp: number;
            rtsp: number;
            srt: number;
          };
        }>;
      }>;
    };
  };
}

export const KINDS = [
  'file',
  'msv',
  'c2pa',
  'compare',
  'cached',
] as const satisfies readonly Kind[];

export const LOG_STATES = [
  'success',
  'error',
  'with-errors',
] as const satisfies readonly LogState[];

export const TOOL_STATES = [
  'success',
  'error',
  'skipped',
] as const satisfies readonly ToolState[];

export const POLICY_STATES = [
  'pass',
  'fail',
  'warn',
  'not-applicable',
  'unknown',
  'skipped',
] as const satisfies readonly PolicyState[];

/** The members of a file request, and of its answer, that are tools. */
export const SECTIONS = [
  'ffprobe',
  'mediainfo',
  'probe_report',
  'mediastreamvalidator',
  'c2pa',
  'qc',
] as const satisfies readonly (keyof Envelope)[];

/** Tools that a report is made from. */
export const REPORT_READERS: readonly string[] = [
  'ffprobe',
  'mediainfo',
];

/** The section of a tool that is a kind of request of its own. */
export const SECTION_OF_KIND: Readonly<Record<string, string>> = {
  msv: 'mediastreamvalidator',
  c2pa: 'c2pa',
};

/** What rules of policies name. */
export const POLICY_FIELDS: readonly string[] = [
  'container.format',
  'container.duration',
  'container.start_time',
  'container.size',
  'container.bitrate.average',
  'container.chapters',
  'container.title',
  'container.encoder',
  'container.brand',
  'container.timecode',
  'container.streamable',
  'container.streams.total',
  'container.streams.video',
  'container.streams.audio',
  'container.streams.subtitle',
  'container.streams.data',
  'container.streams.attachment',
  'index',
  'type',
  'id',
  'codec.name',
  'codec.profile',
  'codec.four_cc',
  'codec.id',
  'start_time',
  'duration',
  'bitrate.average',
  'bitrate.nominal',
  'bitrate.minimum',
  'bitrate.maximum',
  'language',
  'title',
  'default',
  'forced',
  'encrypted',
  'embedded',
  'codec.level',
  'size.width',
  'size.height',
  'size.sample_aspect_ratio',
  'size.display_aspect_ratio',
  'frame_rate',
  'frame_rate_mode',
  'scan_type',
  'scan_order',
  'pulldown',
  'pixel_format.color_model',
  'pixel_format.components_order',
  'pixel_format.chroma_subsampling',
  'pixel_format.bit_depth',
  'pixel_format.has_alpha',
  'color.primaries',
  'color.transfer',
  'color.matrix',
  'color.range',
  'frames_count',
  'rotation',
  'timecode',
  'hdr.formats',
  'hdr.mastering_display',
  'hdr.dynamic',
  'hdr.max_cll',
  'hdr.max_fall',
  'hdr.dolby_vision_profile',
  'hdr.dolby_vision_level',
  'hdr.dolby_vision_compatibility',
  'hdr.dolby_vision_rpu',
  'looked_at.pictures',
  'looked_at.seconds',
  'looked_at.captions',
  'captions',
  'sample_rate',
  'channels',
  'channel_layout',
  'bit_depth',
  'attached_picture',
];
