/** One file, asked about by hand: the same calls that a program makes, and the request to be copied. */
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { broken, type Failure } from '../api/failure.ts';
import { asToken, type HeldToken } from '../api/gateway.ts';
import type { AvailableTool, PolicyRow, Sample } from '../../api_types.ts';
import { useAsked } from '../api/use_call.ts';
import { Form, Labelled } from '../parts/form.tsx';
import { Await, Empty } from '../parts/states.tsx';
import { WithToken } from '../parts/with_token.tsx';
import { CopyAs } from '../playground/copy_as.tsx';
import { Choice, OnOff, setValue, Tool } from '../playground/fields.tsx';
import { Run, send } from '../playground/run.tsx';
import {
  ADDRESS,
  bodyOf,
  hasSecrets,
  isRedacted,
  reportIsOn,
  timelineIsOn,
  withoutDefaults,
  withoutSecrets,
} from '../playground/form.ts';
import { go, goWith, placeNow, usePlace } from '../router.ts';

interface AddressProps {
  url: string;
  change: (url: string) => void;
  samples: readonly Sample[];
}

const REDACTED = 'Parts of this address are not kept on record: enter it again.';
const redacted = (): Failure => ({ ...broken(REDACTED), kind: 'refused', field: ADDRESS });

/** Its secrets stay in the page: the address of the page has what the log would show. */
function Address({ url, change, samples }: AddressProps) {
  const help = isRedacted(url)
    ? REDACTED
    : hasSecrets(url)
      ? 'Credentials and values in the query are used to read the media, and appear in no log and no link.'
      : 'HTTP(S), S3, FTP, HLS, DASH, RTMP, RTSP or SRT, with or without credentials.' +
        (samples.length > 0 ? ' The field suggests samples.' : '');
  return (
    <Labelled name={ADDRESS} label="Address of the media" help={help}>
      {(control) => (
        <>
          <input
            {...control}
            value={url}
            required
            inputMode="url"
            placeholder="https://media.example.com/film.mp4"
            spellcheck={false}
            autoComplete="off"
            list="samples"
            onInput={(event) => {
              change(event.currentTarget.value);
              setValue(ADDRESS, withoutSecrets(event.currentTarget.value));
            }}
          />
          <datalist id="samples">
            {samples
              .filter(({ endpoint }) => endpoint !== 'mediastreamvalidator')
              .map((sample) => (
                <option key={sample.url} value={sample.url}>
                  {sample.shows}
                </option>
              ))}
          </datalist>
        </>
      )}
    </Labelled>
  );
}

interface ReadyProps {
  token: HeldToken;
  tools: readonly AvailableTool[];
  policies: readonly PolicyRow[];
  samples: readonly Sample[];
}

function Ready({ token, tools, policies, samples }: ReadyProps) {
  const { path, query } = usePlace();
  const [url, setUrl] = useState(query.get(ADDRESS) ?? '');
  const run = query.get('run');
  useEffect(() => go(path, withoutDefaults(placeNow().query, tools), true), []);

  async function start(): Promise<void> {
    if (isRedacted(url)) throw redacted();
    const id = await send(bodyOf(url, query, tools), token.text);
    goWith({ run: id, tab: null, find: null, output: null });
  }
  return (
    <>
      <Form submit="Run" wide work={start}>
        <Address url={url} change={setUrl} samples={samples} />
        <div class="tools">
          {tools.map((tool) => (
            <Tool key={tool.tool} tool={tool} />
          ))}
        </div>
        <div class="tools">
          <OnOff
            name="probe_report.enabled"
            label="Compare ffprobe and mediainfo"
            on={reportIsOn(query)}
            help="One report of the file from both, with where they disagree."
          />
          <OnOff
            name="timeline.enabled"
            label="Timeline"
            on={timelineIsOn(query)}
            help="Bit rate and key frames over time. Reads the whole file once more."
          />
          <Choice
            name="policy"
            label="Policy"
            value={query.get('policy') ?? ''}
            values={[['', 'none'], ...policies.map(({ name }) => [name, name] as const)]}
          />
        </div>
      </Form>
      <CopyAs url={url} tools={tools} />
      {run !== null && <Run key={run} id={run} token={token} />}
    </>
  );
}

function WithVersions({ token }: { token: HeldToken }) {
  const bearer = token.text;
  const asked = useAsked(`versions ${token.id}`, (signal) =>
    asToken(
      Promise.all([
        call('GET /v1/versions', { bearer, signal }),
        call('GET /v1/policy', { bearer, signal }),
        call('GET /v1/samples', { bearer, signal }),
      ] as const),
    ),
  );
  return (
    <Await asked={asked} what="the tool versions">
      {([{ tools }, { policies }, { samples }]) =>
        tools.every(({ latest }) => latest === null) ? (
          <Empty title="No tool is ready">
            <p>The cluster is still proving the tool versions, or has none.</p>
          </Empty>
        ) : (
          <Ready token={token} tools={tools} policies={policies} samples={samples} />
        )
      }
    </Await>
  );
}

export const Playground = () => <WithToken>{(token) => <WithVersions token={token} />}</WithToken>;
