/** What is read: an address, a sample, or a file; and what reads it in the name of its owner. */
import { useId, useState } from 'preact/hooks';
import type { Sample } from '../../api_types.ts';
import { bytes, said } from '../parts/figures.ts';
import { Field } from '../parts/form.tsx';
import { Stranger } from '../parts/values.tsx';
import { setValue } from './fields.tsx';
import { hasSecrets, isRedacted, withoutSecrets, type Secrets } from './form.ts';

export const REDACTED = 'Parts of this address are not kept on record: enter it again.';

interface AddressProps {
  name: string;
  label: string;
  url: string;
  change: (url: string) => void;
  /** A file is sent instead. */
  off?: boolean;
}

/** Its secrets stay in the page: the address of the page has what the log would show. */
export function Address({ name, label, url, change, off = false }: AddressProps) {
  const help = isRedacted(url)
    ? REDACTED
    : hasSecrets(url)
      ? 'Credentials and values in the query are used to read the media, and appear in no log and no link.'
      : 'HTTP(S), S3, FTP, HLS, DASH, RTMP, RTSP or SRT, with or without credentials.';
  return (
    <Field
      name={name}
      label={label}
      help={help}
      value={url}
      change={(text) => {
        change(text);
        setValue(name, withoutSecrets(text));
      }}
      required={!off}
      disabled={off}
      inputMode="url"
      placeholder="https://media.example.com/film.mp4"
      autoComplete="off"
    />
  );
}

const nameOf = ({ url }: Sample): string => new URL(url).pathname.slice(1);
/** Of each group, shown at once. */
const FIRST = 2;

interface SamplesProps {
  samples: readonly Sample[];
  take: (sample: Sample) => void;
  busy: boolean;
}

/** One click probes a sample. */
export function Samples({ samples, take, busy }: SamplesProps) {
  const [all, setAll] = useState(false);
  const id = useId();
  if (samples.length === 0) return null;
  const first = [...Map.groupBy(samples, ({ group }) => group).values()].flatMap((some) => some.slice(0, FIRST));
  return (
    <div class="samples" role="group" aria-labelledby={id}>
      <span class="unit" id={id}>
        Samples
      </span>
      {(all ? samples : first).map((sample) => (
        <button
          key={sample.url}
          type="button"
          class="small"
          title={sample.shows}
          disabled={busy}
          onClick={() => take(sample)}
        >
          {nameOf(sample)}
        </button>
      ))}
      {!all && first.length < samples.length && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          all {samples.length}
        </button>
      )}
    </div>
  );
}

interface DropProps {
  file: File | null;
  choose: (file: File | null) => void;
  /** Of the file, while it is sent. */
  sent: number | null;
}

/** A file of this machine, dropped or chosen. */
export function Drop({ file, choose, sent }: DropProps) {
  const id = useId();
  const [over, setOver] = useState(false);
  return (
    <div
      class={over ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        choose(event.dataTransfer?.files[0] ?? null);
      }}
    >
      {file ? (
        <>
          <Stranger text={file.name} most={80} /> <span class="unit">{said(bytes(file.size))}</span>
          {sent === null ? (
            <button type="button" class="small" onClick={() => choose(null)}>
              Remove the file
            </button>
          ) : (
            <>
              <progress value={sent} aria-label="Sent" />
              <span class="unit">{Math.floor(sent * 100)} %</span>
            </>
          )}
        </>
      ) : (
        <>
          <label for={id}>Or drop a file here:</label>
          <input id={id} type="file" onChange={(event) => choose(event.currentTarget.files?.[0] ?? null)} />
        </>
      )}
    </div>
  );
}

const SECRETS = [
  { name: 'headers', label: 'Headers', help: 'A line for each: X-Key: value', rows: 2 },
  { name: 'cookies', label: 'Cookies', help: 'A line for each: name=value', rows: 2 },
  { name: 'credential', label: 'Credential', help: 'The name of one that the operator has configured.' },
] as const;

export const OwnersSecrets = ({ secrets, change }: { secrets: Secrets; change: (secrets: Secrets) => void }) => (
  <details>
    <summary>Headers, cookies and credential</summary>
    <p class="help">They go to the host of the address alone, and are kept in no record, link or copy.</p>
    {SECRETS.map((field) => (
      <Field
        key={field.name}
        {...field}
        value={secrets[field.name]}
        change={(text) => change({ ...secrets, [field.name]: text })}
        autoComplete="off"
      />
    ))}
  </details>
);
