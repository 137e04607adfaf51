/** What each tool printed, as it printed it, and the request. */
import type { Answer } from '../api/client.ts';
import { Copy } from '../parts/copy.tsx';
import { count } from '../parts/figures.ts';
import { Empty } from '../parts/states.tsx';
import { visible } from '../parts/visible.ts';

type Detail = Answer<'GET media/log/:id'>;

const OUTPUTS = [
  ['probe-report-response', 'Report'],
  ['ffprobe-response', 'ffprobe'],
  ['mediainfo-response', 'mediainfo'],
  ['msv-response', 'HLS validator'],
  ['c2pa-response', 'C2PA'],
] as const;

/** More is one click away, and never drawn as one text. */
const MOST_SHOWN = 20_000;

function pretty(text: string): string {
  if (text.length > 1_000_000) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const download = (name: string, text: string): void => {
  const address = URL.createObjectURL(new Blob([text], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
};

function Output({ title, text, name }: { title: string; text: string; name: string }) {
  const shown = visibleLines(pretty(text).slice(0, MOST_SHOWN));
  return (
    <details open>
      <summary>
        {title} <span class="unit">{count(text.length)} characters</span>
      </summary>
      <pre class="output" tabIndex={0} aria-label={`Output: ${title}`}>
        {shown}
      </pre>
      <p class="actions">
        {text.length > MOST_SHOWN && <span class="unit">cut after {count(MOST_SHOWN)} characters</span>}
        <Copy text={() => text} label={`Copy the output of ${title}`}>
          Copy
        </Copy>
        <button
          type="button"
          class="small"
          onClick={() => download(name, text)}
          aria-label={`Download the output of ${title}`}
        >
          Download
        </button>
      </p>
    </details>
  );
}

/** Line ends are lines here; every other control character is a symbol. */
const visibleLines = (text: string): string => text.split('\n').map(visible).join('\n');

export function Raw({ detail }: { detail: Detail }) {
  const { id, request } = detail;
  const outputs = OUTPUTS.flatMap(([member, title]) => {
    const text = detail[member];
    return typeof text === 'string' ? [{ title, text, name: `${id}-${member.replace('-response', '')}.txt` }] : [];
  });
  return (
    <>
      {outputs.length === 0 && (
        <Empty title="No output is kept">
          <p>No tool printed anything, or the result has expired: results are kept for a shorter time than the log.</p>
        </Empty>
      )}
      {outputs.map((output) => (
        <Output key={output.name} {...output} />
      ))}
      <Output title="Request" text={request} name={`${id}-request.json`} />
    </>
  );
}
