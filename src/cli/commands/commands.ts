/** Every command of `probeyard`. Help, completion and docs/cli.md are made from it. */
import { action, oneOf, type Command, type Option } from '../command.ts';
import { DOCTOR } from '../kubectl/kubectl_commands.ts';
import { KINDS, LOG_STATES, POLICY_STATES, SECTIONS, type BatchCounts } from '../../api_types.ts';
import { FACET_NAMES } from '../../media/policy/facets.ts';
import { REPORT } from '../output/for_ci.ts';
import { ACCOUNT_COMMANDS } from './account_commands.ts';
import { CACHE, CHECKED_BY, DIFFERENCES, PARALLEL, POLICY, SET, TIMES, VERSIONS } from './request_options.ts';

const ADDRESSES = 'address of a file, playlist or stream: https, s3, ftp, rtmp, rtsp, srt …';
const URL_ = { name: 'URL', help: ADDRESSES } as const;
const SOURCE = {
  name: 'SOURCE',
  isFile: true,
  help: `a file, which is sent; - for stdin; or the ${ADDRESSES}`,
} as const;

const ONLY: Option = { name: 'only', value: 'TOOL', ...oneOf(SECTIONS, 'run this tool alone: ') };
const QC: Option = { name: 'qc', help: 'also decode pictures and sound, and check them: reads the whole file' };

/** Each that the service counts. */
const ITEM_STATES: Readonly<Record<keyof BatchCounts, true>> = {
  waiting: true,
  running: true,
  success: true,
  'with-errors': true,
  error: true,
  skipped: true,
};

const PERIOD: readonly Option[] = [
  { name: 'since', value: 'TIME', help: 'from so long ago: 1h, 7d' },
  { name: 'from', value: 'TIME', help: 'from then: 2026-11-22 or 2026-11-22T10:00:00Z' },
  { name: 'to', value: 'TIME', help: 'until then' },
];

/** Of each batch that is created. */
const OF_BATCH: readonly Option[] = [
  { name: 'name', value: 'NAME', help: 'create: a name for people' },
  ONLY,
  ...VERSIONS,
  { ...POLICY, help: 'create: the name of a saved policy that judges each source' },
  QC,
  CACHE,
  SET,
  ...TIMES,
  { name: 'concurrency', value: 'COUNT', help: 'create: jobs at once; default: half of the slots, at most 4' },
  { name: 'rate', value: 'COUNT', help: 'create: requests a minute; default: half of what the account may send' },
  { name: 'per-host', value: 'COUNT', help: 'create: jobs of one host at once; default: 4' },
  { name: 'tries', value: 'COUNT', help: 'create: requests for a source whose failure may pass; default: 3' },
  { name: 'webhook-url', value: 'URL', help: 'create: send the batch there when it has ended' },
  { name: 'webhook-format', value: 'FORMAT', ...oneOf(['plain', 'cloudevents'], 'create: of what is sent: ') },
  { name: 'webhook-items', help: 'create: send the result of each source there, too' },
  { name: 'tag-objects', help: 'create: write the verdict to each s3:// object, as tags' },
];
const OF_BUCKET: readonly Option[] = [
  { name: 'include', value: 'PATTERN', many: true, help: 'create: of a bucket only what fits one: *.mp4' },
  { name: 'exclude', value: 'PATTERN', many: true, help: 'create: of a bucket nothing that fits one' },
  { name: 'min-size', value: 'SIZE', help: 'create: of a bucket nothing smaller' },
  { name: 'max-size', value: 'SIZE', help: 'create: of a bucket nothing larger' },
  { name: 'modified-after', value: 'WHEN', help: 'create: of a bucket nothing older: 2026-01-31T00:00:00Z' },
  { name: 'modified-before', value: 'WHEN', help: 'create: of a bucket nothing newer' },
];

export const COMMANDS: readonly Command[] = [
  {
    name: 'probe',
    summary: 'Say what is in a file or stream',
    description: [
      'Runs ffprobe and mediainfo and reports on what they found, where they disagree, and which one is right.',
      'The exit code is 1 where no tool could read the source.',
      'A file is sent as it is read, and removed from the service with the end of the request.',
    ],
    positionals: [{ ...SOURCE, many: true }],
    options: [
      ONLY,
      ...VERSIONS,
      POLICY,
      { name: 'timeline', help: 'also read bit rate, key frames and gaps over time: reads the whole file' },
      QC,
      CACHE,
      SET,
      ...TIMES,
      PARALLEL,
    ],
    formats: ['table', 'json', 'yaml', 'html', 'raw'],
    examples: {
      'what is in a file': 'probeyard probe https://media.example.com/film.mp4',
      'what is in a file of this machine': 'probeyard probe film.mp4',
      'what a program makes': 'make-film | probeyard probe -',
      'the codec of its first stream, for a script':
        "probeyard probe https://media.example.com/film.mp4 -o json | jq -r '.probe_report.response.codec.name'",
      'as CSV, from ffprobe 7.1 alone':
        'probeyard probe s3://media/film.mp4 --only ffprobe --ffprobe 7.1 --set ffprobe.output_format=csv -o raw',
      'without reading a file again that has not changed within a day':
        'xargs probeyard probe --cache 1d -o json < addresses.txt',
      'every frame of the first video stream':
        'probeyard probe https://media.example.com/film.mp4 --only ffprobe --set ffprobe.show_frames=true ' +
        '--set ffprobe.select_streams=v:0 -o json',
    },
    run: async () => (await import('./probe_command.ts')).default,
  },
  {
    name: 'check',
    summary: 'Judge files by a policy',
    description: [
      'The exit code is 0 where every file passes, 1 where a rule failed, 2 for a mistake in the command, ' +
        'and 3 where a file could not be judged: that is never a pass.',
    ],
    positionals: [{ ...SOURCE, many: true }],
    options: [
      POLICY,
      { name: 'fail-on', value: 'LEVEL', values: ['fail', 'warn'], help: 'warn: warnings fail, too; default: fail' },
      REPORT,
      ...VERSIONS,
      CACHE,
      SET,
      ...TIMES,
      PARALLEL,
    ],
    formats: ['table', 'json', 'yaml', 'junit', 'sarif', 'github'],
    examples: {
      'may this be delivered?': 'probeyard check https://media.example.com/film.mp4 --policy shared/web-mp4',
      'files of a build, by rules in a file of the repository, as JUnit for CI':
        'probeyard check dist/*.mp4 -p delivery.yaml -o junit > report.xml',
      'a list of addresses, eight at once, with annotations for GitHub':
        'xargs probeyard check -p shared/web-mp4 --parallel 8 -o github < addresses.txt',
    },
    run: async () => (await import('./check_command.ts')).default,
  },
  {
    name: 'hls',
    summary: 'Validate HLS playlists',
    description: [
      'The exit code is 1 where there are findings of the level that fails: must-fix, unless told otherwise.',
      'A playlist that is sent is judged by its own text: what it refers to by a relative name is not there.',
    ],
    positionals: [{ ...SOURCE, help: 'address of a playlist, or a file that holds one; - for stdin', many: true }],
    options: [
      { name: 'segments', help: 'fetch and measure a sample of the segments, and watch a live playlist' },
      { name: 'all-segments', help: 'measure every segment, as far as 1 GB and --timeout reach' },
      {
        name: 'fail-on',
        value: 'LEVEL',
        values: ['must-fix', 'should-fix', 'info'],
        help: 'findings that fail: must-fix (default), should-fix or info',
      },
      REPORT,
      ...TIMES,
      PARALLEL,
    ],
    formats: ['table', 'json', 'yaml', 'junit', 'sarif', 'github'],
    examples: {
      'what is wrong with a stream': 'probeyard hls https://media.example.com/live/main.m3u8',
      'in CI, with its segments, as SARIF':
        'probeyard hls https://media.example.com/live/main.m3u8 --segments -o sarif > hls.sarif',
    },
    run: async () => (await import('./hls_command.ts')).default,
  },
  {
    name: 'c2pa',
    summary: 'Check where a file comes from: its C2PA manifest',
    description: ['The exit code is 1 where the manifest is invalid, or less than --require asks for.'],
    positionals: [SOURCE],
    options: [
      {
        name: 'require',
        value: 'STATE',
        values: ['valid', 'trusted'],
        help: 'fail a file that is not valid, or trusted',
      },
      ...TIMES,
    ],
    formats: ['table', 'json', 'yaml', 'raw'],
    examples: {
      'who signed a picture': 'probeyard c2pa https://media.example.com/picture.jpg',
      'refuse what is not signed by a trusted issuer':
        'probeyard c2pa https://media.example.com/picture.jpg --require trusted',
    },
    run: async () => (await import('./c2pa_command.ts')).default,
  },
  {
    name: 'qc',
    summary: 'Check the content of files: black, freezes, silence, loudness, clipping, damage',
    description: ['The exit code is 1 for block: a passage is too long, or not all was decoded. Other findings warn.'],
    positionals: [{ ...SOURCE, many: true }],
    options: [...CHECKED_BY, CACHE, SET, ...TIMES, PARALLEL],
    formats: ['table', 'json', 'yaml'],
    examples: {
      'how loud it is, and where it is black, frozen or silent': 'probeyard qc film.mp4',
      'may it go on air? No black, and half a second of silence at most':
        'probeyard qc film.mp4 --longest-black 0s --longest-silence 500ms',
      'is a file of a bag as it was, and undamaged?':
        'probeyard qc data/film.mkv --integrity --manifest manifest-sha256.txt',
    },
    run: async () => (await import('./qc_command.ts')).default,
  },
  {
    name: 'compare',
    summary: 'Say what changes between versions of a tool, on one source',
    positionals: [URL_],
    options: [
      { name: 'ffprobe', value: 'VERSIONS', help: 'two or more versions of ffprobe, such as 4.4,7.1' },
      { name: 'mediainfo', value: 'VERSIONS', help: 'two or more versions of mediainfo' },
      { name: 'news', help: 'leave out changes that a release is known to make' },
      ...DIFFERENCES,
      { name: 'exit-code', help: 'exit with 1 where a field that is told changes' },
      SET,
      ...TIMES,
    ],
    formats: ['table', 'json', 'yaml'],
    examples: {
      'what ffprobe 9.0 says that 4.4 did not':
        'probeyard compare https://media.example.com/film.mp4 --ffprobe 4.4,9.0',
      'in CI: fail where an upgrade changes more than its release notes say':
        'probeyard compare https://media.example.com/film.mp4 --ffprobe 4.4,9.0 --news --exit-code',
    },
    run: async () => (await import('./compare_command.ts')).default,
  },
  {
    name: 'diff',
    summary: 'Compare two files, or one file at two times',
    description: [
      'Each side is a file or an address, which is probed, or the id of a request on record. The exit code is 0 ' +
        'where no field differs and 1 where one does, as that of diff.',
      'Names of files are left out, and their paths and addresses: format.filename of ffprobe, @ref of mediainfo and ' +
        'their like.',
    ],
    positionals: [
      { name: 'A', isFile: true, help: 'file, address or request id' },
      { name: 'B', isFile: true, help: 'file, address or request id' },
    ],
    options: [...DIFFERENCES, ...VERSIONS, SET, ...TIMES],
    formats: ['table', 'json', 'yaml'],
    examples: {
      'two local files as the report reads them, whatever their bit rates':
        'probeyard diff old.mp4 new.mp4 --level canonical --ignore container.bitrate --ignore video[].bitrate',
      'what an encoder changed': 'probeyard diff https://media.example.com/old.mp4 https://media.example.com/new.mp4',
      'the same file last week and now':
        'probeyard diff 019a5f3e-8a00-7000-8000-000000000001 https://media.example.com/film.mp4',
    },
    run: async () => (await import('./compare_command.ts')).runDiff,
  },
  {
    name: 'batch',
    summary: 'Probe many addresses as one batch',
    description: [
      'A list has an address on each line; or JSON lines, each an address or {"url", "ref"}; or CSV with a column ' +
        'url, and ref if it is there. The service works through it by itself, within the limits of the token.',
      'create prints the id alone to stdout. The exit code of wait is 0 where every source succeeded, 1 where one ' +
        'failed or had errors, and 3 where the batch has not ended or sources were skipped that are not unchanged.',
      'diff A B shows what the batch B says otherwise than A, an earlier one of the same sources: outcomes, and ' +
        'fields by the number of files. Its exit code is 0 where nothing changed but what a release is known to ' +
        'change, 1 where something did, and 3 where nothing could be compared.',
    ],
    positionals: [
      action('list', 'create', 'status', 'items', 'wait', 'diff', 'pause', 'resume', 'cancel'),
      {
        name: 'ID|LIST',
        isFile: true,
        help: 'of create a list, by default stdin, the https address of one, or a bucket; else the id of a batch',
        optional: true,
      },
      { name: 'ID', help: 'of diff the id of the later batch', optional: true },
    ],
    options: [
      ...OF_BATCH,
      { name: 'deadline', value: 'TIME', help: 'create: sources that wait then are skipped: 12h; default: 7d' },
      { name: 'from', value: 'ID', help: 'create: in place of a list, what failed or was skipped in this batch' },
      { name: 'all', help: 'create: all sources of the batch of --from' },
      {
        name: 'changed',
        help: 'create: those of --from whose file has changed, as their host says; others are skipped',
      },
      ...OF_BUCKET,
      { name: 'max-requests', value: 'COUNT', help: 'create, resume: stop after so many requests' },
      { name: 'max-bytes', value: 'SIZE', help: 'create, resume: stop after so many bytes of origins: 500GB' },
      { name: 'state', value: 'STATE', ...oneOf(Object.keys(ITEM_STATES), 'items: only those in this state: ') },
      { name: 'code', value: 'CODE', help: 'items: only those that failed with this code: http-404' },
      {
        name: 'where',
        value: 'FACET=VALUE',
        many: true,
        help: `items: only those with this value: hdr=HDR10, by ${FACET_NAMES.join(', ')}`,
      },
      { name: 'source', value: 'ID', help: 'list: only batches of this source' },
      { name: 'limit', value: 'COUNT', help: 'list, items: at most so many; default: 20' },
    ],
    formats: ['table', 'json', 'yaml', 'csv', 'ndjson', 'parquet'],
    examples: {
      'probe all addresses of a file, and wait for the end':
        'probeyard batch create addresses.txt --policy shared/web-mp4 | xargs probeyard batch wait',
      'content checks of an archive, two at once, for at most 2 TB':
        'probeyard batch create archive.csv --only qc --timeout 10m --concurrency 2 --max-bytes 2TB',
      'all films of a bucket, with a credential of the operator':
        "probeyard batch create s3://films/2026/ --include '*.mp4' --set credential=films",
      'what failed, for a spreadsheet':
        'probeyard batch items 019a5f3e-8a00-7000-8000-000000000001 --state error -o csv > failed.csv',
      'once more what failed or was skipped': 'probeyard batch create --from 019a5f3e-8a00-7000-8000-000000000001',
      'what an upgrade of a tool changed in a library':
        'probeyard batch diff 019a5f3e-8a00-7000-8000-000000000001 019a5f3e-8a00-7000-8000-000000000002',
    },
    run: async () => (await import('./batch_command.ts')).default,
  },
  {
    name: 'source',
    summary: 'Probe what comes into a bucket',
    description: [
      'The service lists the bucket on a schedule and takes the events that it sends. Each new version of an object ' +
        'becomes an item of a batch, once: batch list --source ID shows them.',
      'create and new-key print the id alone to stdout, and to stderr the address for events, shown this once.',
    ],
    positionals: [
      action('list', 'create', 'show', 'pause', 'resume', 'list-now', 'new-key', 'delete'),
      { name: 'ID|BUCKET', help: 'of create a bucket: s3://BUCKET/PREFIX; else the id of a source', optional: true },
    ],
    options: [
      ...OF_BATCH,
      ...OF_BUCKET,
      { name: 'every', value: 'TIME', help: 'create: the time between two listings: 10m, or none; default: 1h' },
      { name: 'settle', value: 'TIME', help: 'create: an object must not have changed for so long; default: 1m' },
      { name: 'bundle', value: 'TIME', help: 'create: the time between two batches; default: 1m' },
      { name: 'new-only', help: 'create: nothing that is older than the source' },
      { name: 'limit', value: 'COUNT', help: 'list: at most so many; default: 20' },
    ],
    formats: ['table', 'json', 'yaml'],
    examples: {
      'probe each film that comes into a bucket, by a policy':
        "probeyard source create s3://films/in/ --include '*.mp4' --policy shared/web-mp4 --set credential=films",
      'the batches that it made': 'probeyard batch list --source 019a5f3e-8a00-7000-8000-000000000001',
    },
    run: async () => (await import('./source_command.ts')).default,
  },
  {
    name: 'result',
    summary: 'Read a result back',
    positionals: [{ name: 'ID', help: 'id of a request' }],
    options: [
      {
        name: 'link',
        value: 'TIME',
        help: 'print a link to the report that works for so long, without an account: 1h to 30d',
      },
    ],
    formats: ['table', 'json', 'yaml', 'html'],
    examples: {
      'the whole answer of a request': 'probeyard result 019a5f3e-8a00-7000-8000-000000000001 -o json',
      'a report to hand on: one file that needs nothing else, and prints':
        'probeyard result 019a5f3e-8a00-7000-8000-000000000001 -o html > report.html',
      'the same as a link that ends': 'probeyard result 019a5f3e-8a00-7000-8000-000000000001 --link 7d',
    },
    run: async () => (await import('./result_command.ts')).default,
  },
  {
    name: 'timeline',
    summary: 'Show bit rate, key frames and gaps over time',
    description: ['The whole source is read, within --timeout. Of a request on record: what it has kept.'],
    positionals: [{ ...SOURCE, help: `id of a request with a timeline, ${SOURCE.help}` }],
    options: [VERSIONS[0]!, ...TIMES],
    formats: ['table', 'json', 'yaml'],
    examples: {
      'where packets are missing': 'probeyard timeline film.ts',
      'the times of the key frames': "probeyard timeline film.mp4 -o json | jq '.streams[0].keys.times'",
    },
    run: async () => (await import('./result_command.ts')).runTimeline,
  },
  {
    name: 'log',
    summary: 'List requests, or show one',
    positionals: [{ name: 'ID', help: 'id of a request', optional: true }],
    options: [
      ...PERIOD,
      { name: 'type', value: 'TYPE', ...oneOf(KINDS), many: true },
      { name: 'status', value: 'STATUS', ...oneOf(LOG_STATES), many: true },
      {
        name: 'status-policy',
        value: 'OUTCOME',
        ...oneOf(POLICY_STATES, 'outcome of the policy: '),
        many: true,
      },
      { name: 'policy', value: 'NAME', many: true, help: 'judged by this policy' },
      { name: 'url', value: 'TEXT', help: 'a part of the address' },
      { name: 'limit', value: 'COUNT', help: 'at most so many; default: 20' },
    ],
    formats: ['table', 'json', 'yaml'],
    examples: {
      'what failed in the last hour': 'probeyard log --since 1h --status error --status with-errors',
      'one request, and why it failed': 'probeyard log 019a5f3e-8a00-7000-8000-000000000001',
    },
    run: async () => (await import('./log_command.ts')).default,
  },
  {
    name: 'usage',
    summary: 'Show requests, time and bytes of you and your sub-users',
    options: [
      ...PERIOD,
      {
        name: 'by',
        value: 'UNIT',
        values: ['hour', 'day', 'week', 'month', 'year'],
        help: 'hour, day (default), week, month or year',
      },
    ],
    formats: ['table', 'json', 'yaml'],
    examples: {
      'the last week by day': 'probeyard usage --since 7d',
    },
    run: async () => (await import('./log_command.ts')).runUsage,
  },
  ...ACCOUNT_COMMANDS,
  {
    name: 'versions',
    summary: 'List the tool versions that can run now',
    formats: ['table', 'json', 'yaml'],
    examples: {
      'which versions there are': 'probeyard versions',
      'the newest ffprobe': 'probeyard versions -o json | jq -r \'.tools[] | select(.tool == "ffprobe").latest\'',
    },
    run: async () => (await import('./result_command.ts')).runVersions,
  },
  {
    name: 'login',
    summary: 'Keep the address of the API and a token',
    description: [
      'Asks for the token without showing it, or reads it from stdin; tries it; and keeps both in ' +
        '$XDG_CONFIG_HOME/probeyard/config.json, which only you can read. PROBEYARD_URL and ' +
        'PROBEYARD_TOKEN win over it.',
      'With --sso it prints an address and a code instead. Open the address in any browser and enter the code; the ' +
        'token that it then keeps ends after twelve hours.',
    ],
    options: [
      { name: 'server', value: 'URL', help: 'address of the API' },
      { name: 'sso', help: 'sign in by single sign-on, in a browser' },
      { name: 'issuer', value: 'NAME', help: 'with --sso: by which issuer, if there are several' },
    ],
    examples: {
      'by single sign-on': 'probeyard login --server https://probeyard.example.com --sso',
      'with a token that is typed': 'probeyard login --server https://probeyard.example.com',
      'with one from a file': 'probeyard login --server https://probeyard.example.com < token',
    },
    run: async () => (await import('./login.ts')).default,
  },
  {
    name: 'logout',
    summary: 'Remove the address and the token that login keeps',
    description: ['The token stays valid: probeyard token revoke ends one.'],
    examples: {
      'on a machine that others will use': 'probeyard logout',
    },
    run: async () => (await import('./login.ts')).runLogout,
  },
  {
    name: 'ffprobe',
    summary: 'Run ffprobe as a service: its own flags, its own output',
    description: [
      'Prints byte for byte what the same ffprobe prints on stdout, with its exit code. A flag that the ' +
        'service cannot pass on is refused by name. PROBEYARD_FFPROBE_VERSION chooses the version. A link to ' +
        'probeyard with the name ffprobe does the same, for programs that are told where ffprobe is.',
    ],
    examples: {
      'as any program calls it':
        'probeyard ffprobe -v quiet -print_format json -show_format -show_streams https://media.example.com/film.mp4',
      'one value, for a script':
        'probeyard ffprobe -v error -show_entries format=duration -of default=nw=1:nk=1 ' +
        'https://media.example.com/film.mp4',
      'in place of ffprobe': 'ln -s "$(command -v probeyard)" ~/bin/ffprobe',
    },
    verbatim: true,
    run: async () => (await import('../shim/ffprobe_shim.ts')).default,
  },
  {
    name: 'mediainfo',
    summary: 'Run mediainfo as a service: its own flags, its own output',
    description: [
      'Prints byte for byte what the same mediainfo prints on stdout. A flag that the service cannot pass ' +
        'on is refused by name. PROBEYARD_MEDIAINFO_VERSION chooses the version. A link to probeyard with the ' +
        'name mediainfo does the same.',
    ],
    examples: {
      'as JSON': 'probeyard mediainfo --Output=JSON https://media.example.com/film.mp4',
      'one value': "probeyard mediainfo '--Inform=General;%Duration%' https://media.example.com/film.mp4",
    },
    verbatim: true,
    run: async () => (await import('../shim/mediainfo_shim.ts')).default,
  },
  {
    name: 'mcp',
    summary: 'Model Context Protocol over stdio: forward messages to the API',
    description: [
      'For clients of the Model Context Protocol that start a program. Each line of stdin is one message; it is ' +
        'sent to /mcp of the API with the token, and the answer is one line on stdout. A cancelled call is ' +
        'cancelled in the cluster. Clients that speak HTTP do not need it: they use /mcp itself.',
    ],
    examples: {
      'in the configuration of a client, with PROBEYARD_URL and PROBEYARD_TOKEN in its environment': 'probeyard mcp',
      'the tools, by hand': `echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | probeyard mcp`,
    },
    run: async () => (await import('../mcp/bridge.ts')).default,
  },
  DOCTOR,
  {
    name: 'completion',
    summary: 'Print what completes commands and options in a shell',
    positionals: [{ name: 'SHELL', ...oneOf(['bash', 'zsh', 'fish']) }],
    examples: {
      'bash, in ~/.bashrc': 'source <(probeyard completion bash)',
      'zsh, in a folder of fpath': 'probeyard completion zsh > "${fpath[1]}/_probeyard"',
      fish: 'probeyard completion fish > ~/.config/fish/completions/probeyard.fish',
    },
    run: async () => (await import('../completion.ts')).default,
  },
];
