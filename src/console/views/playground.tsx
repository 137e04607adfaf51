/** One file, asked about by hand: the same calls that a program makes, and the request to be copied. */
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { broken, type Failure } from '../api/failure.ts';
import type { HeldToken } from '../api/gateway.ts';
import type { AvailableTool, PolicyRow, Sample } from '../../api_types.ts';
import { useWork } from '../api/use_call.ts';
import { Form } from '../parts/form.tsx';
import { Empty, Wrong } from '../parts/states.tsx';
import { WithToken } from '../parts/with_token.tsx';
import { OnOff, PolicyField, Tool } from '../playground/fields.tsx';
import { Bench, send } from '../playground/run.tsx';
import { Address, Drop, OwnersSecrets, REDACTED, Samples } from '../playground/source.tsx';
import {
  ADDRESS,
  bodyOf,
  isRedacted,
  NO_SECRETS,
  secretsOf,
  withoutDefaults,
  hasSecrets,
  withoutSecrets,
} from '../playground/form.ts';
import { changed, go, placeNow, usePlace, hrefOf } from '../router.ts';
import { Copy } from '../parts/copy.tsx';
import { Stranger } from '../parts/values.tsx';
import { curlOf, yamlOf } from '../playground/copies.ts';

const redacted = (): Failure => ({ ...broken(REDACTED), kind: 'refused', field: ADDRESS });

/** Only the tool that a sample is meant for runs beside those that run by default. */
const ofSample = (query: URLSearchParams, { url, endpoint }: Sample): URLSearchParams =>
  changed(query, {
    [ADDRESS]: url,
    'mediastreamvalidator.enabled': endpoint === 'mediastreamvalidator' ? 'true' : null,
    'c2pa.enabled': endpoint === 'c2pa' ? 'true' : null,
  });

interface ReadyProps {
  token: HeldToken;
  tools: readonly AvailableTool[];
  policies: readonly PolicyRow[];
  samples: readonly Sample[];
}

function Ready({ token, tools, policies, samples }: ReadyProps) {
  useEffect(() => go('/playground', withoutDefaults(placeNow().query, tools), true), []);
  const { query } = usePlace();
  const [url, setUrl] = useState(placeNow().query.get(ADDRESS) ?? '');
  const [file, setFile] = useState<File | null>(null);
  const [sent, setSent] = useState<number | null>(null);
  const [secrets, setSecrets] = useState(NO_SECRETS);

  /** What is sent: the form, and what stands in no address. */
  async function start(of: URLSearchParams, address: string, sending: File | null): Promise<void> {
    if (!sending && isRedacted(address)) throw redacted();
    const body = { ...bodyOf(address, of, tools), ...(sending ? {} : secretsOf(secrets)) };
    const upload = sending && { file: sending, progress: setSent };
    try {
      const run = await send('POST /v1/probe/file', body, token.text, upload);
      go('/playground', changed(of, { run, tab: null, find: null, output: null }), true);
    } finally {
      setSent(null);
    }
  }
  const { busy, failure, start: work } = useWork();
  const take = (sample: Sample): Promise<void> => {
    setUrl(sample.url);
    setFile(null);
    return work(sample.url, () => start(ofSample(query, sample), sample.url, null));
  };
  const orSample = samples.length > 0 ? ' or choose a sample' : '';
  return (
    <Bench
      token={token}
      title="The answer appears here"
      hint={`Enter an address, drop a file${orSample}, then choose Run.`}
    >
      <Form submit="Run" wide work={() => start(query, url, file)}>
        <Address name={ADDRESS} label="Address of the media" url={url} change={setUrl} off={file !== null} />
        <Samples samples={samples} take={(sample) => void take(sample)} busy={busy !== null} />
        <Wrong failure={failure} />
        <Drop file={file} choose={setFile} sent={sent} />
        <div class="tools">
          {tools.map((tool) => (
            <Tool key={tool.tool} tool={tool} />
          ))}
        </div>
        <div class="tools">
          <OnOff
            name="probe_report.enabled"
            label="Compare ffprobe and mediainfo"
            byDefault
            help="One report of the file from both, with where they disagree."
          />
          <OnOff
            name="timeline.enabled"
            label="Timeline"
            byDefault={false}
            help="Bit rate and key frames over time. Reads the whole file once more."
          />
          <PolicyField policies={policies} />
        </div>
        {file === null && <OwnersSecrets secrets={secrets} change={setSecrets} />}
      </Form>
      <CopyAs url={url} tools={tools} />
    </Bench>
  );
}

const read = (bearer: string, signal: AbortSignal) =>
  Promise.all([
    call('GET /v1/versions', { bearer, signal }),
    call('GET /v1/policy', { bearer, signal }),
    call('GET /v1/samples', { bearer, signal }),
  ] as const);

export const Playground = () => (
  <WithToken what="the tool versions" read={read}>
    {([{ tools }, { policies }, { samples }], token) =>
      tools.every(({ latest }) => latest === null) ? (
        <Empty title="No tool is ready">
          <p>The cluster is still proving the tool versions, or has none.</p>
        </Empty>
      ) : (
        <Ready token={token} tools={tools} policies={policies} samples={samples} />
      )
    }
  </WithToken>
);

// The request as a command, as JSON and as a resource: to be taken elsewhere.

function CopyAs({ url, tools }: { url: string; tools: readonly AvailableTool[] }) {
  const { path, query } = usePlace();
  const body = bodyOf(url, query, tools);
  const forms = [
    ['curl', curlOf(location.origin, body)],
    ['JSON', `${JSON.stringify(body, null, 2)}\n`],
    ['ProbeJob', yamlOf(url, query, tools)],
  ] as const;
  const own = withoutDefaults(query, tools);
  for (const name of ['run', 'tab', 'find', 'output', 'token']) own.delete(name);
  const link = () => `${location.origin}${hrefOf(path, changed(own, { [ADDRESS]: withoutSecrets(url) }))}`;
  return (
    <section class="copy-as">
      <h2>Copy as</h2>
      {hasSecrets(url) && (
        <p class="wrong">
          The address has credentials or values in its query. curl and JSON hold them; the link and the resource do not.
        </p>
      )}
      {forms.map(([name, text]) => (
        <details key={name}>
          <summary>{name}</summary>
          <pre class="output" tabIndex={0} aria-label={`The request as ${name}`}>
            {text.split('\n').map((line, index) => (
              <span key={index}>
                <Stranger text={line} most={2_000} />
                {'\n'}
              </span>
            ))}
          </pre>
          <Copy text={() => text} label={`Copy as ${name}`} />
        </details>
      ))}
      <p class="help">Headers, cookies, credentials and files are in no copy.</p>
      <p class="actions">
        <Copy text={link}>Copy a link to this form</Copy>
        <a href={hrefOf('/batches/new', changed(own, { [ADDRESS]: null }))}>Probe many with these options</a>
      </p>
    </section>
  );
}
