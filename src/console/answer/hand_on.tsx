/** The report of a request to hand on: as a file, and by links that end. */
import { useState } from 'preact/hooks';
import { ask, call } from '../api/client.ts';
import { failureOf } from '../api/failure.ts';
import { useCall, useWork } from '../api/use_call.ts';
import { Copy, download } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Form, Labelled, textIn } from '../parts/form.tsx';
import { Await } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';

const LASTS = [
  [24, 'a day'],
  [168, 'a week'],
  [720, '30 days'],
] as const;

/** Links of this request that work; their addresses are not kept. */
function Links({ id, close }: { id: string; close: () => void }) {
  const [made, setMade] = useState<string | null>(null);
  const asked = useCall('GET media/link', { query: { request: id } });
  const { failure, start } = useWork();
  const make = async (values: FormData): Promise<void> => {
    const body = { hours: Number(textIn(values, 'hours')) };
    const { url } = await call('POST media/log/:id/link', { params: { id }, body });
    setMade(new URL(url, location.href).href);
    asked.again();
  };
  const end = (link: string): Promise<void> =>
    start(link, async () => {
      await call('DELETE media/link/:id', { params: { id: link } });
      setMade(null);
      asked.again();
    });
  return (
    <Dialog title="Share this report" close={close}>
      <p>Whoever has the link reads the report without an account, until the link expires or is ended.</p>
      <Form submit="Make a link" work={make}>
        <Labelled name="hours" label="It works for" help={undefined}>
          {(control) => (
            <select {...control} defaultValue="168">
              {LASTS.map(([hours, text]) => (
                <option key={hours} value={hours}>
                  {text}
                </option>
              ))}
            </select>
          )}
        </Labelled>
      </Form>
      {made !== null && (
        <p class="secret">
          <code>{made}</code>{' '}
          <Copy text={() => made} label="Copy the link">
            Copy
          </Copy>{' '}
          It is shown this once.
        </p>
      )}
      <Await asked={asked} what="the links">
        {({ links }) => (
          <ul class="also">
            {links.map(({ id: link, expires }) => (
              <li key={link}>
                Works until <Time iso={expires} />{' '}
                <button type="button" class="small" onClick={() => void end(link)}>
                  End this link
                </button>
              </li>
            ))}
          </ul>
        )}
      </Await>
      {failure && (
        <p class="wrong" role="alert">
          {failure.text}
        </p>
      )}
    </Dialog>
  );
}

export function HandOn({ id }: { id: string }) {
  const [sharing, setSharing] = useState(false);
  const { busy, failure, start } = useWork();
  const get = (): Promise<void> =>
    start('report', async () => {
      const response = await ask('GET media/log/:id/report', { params: { id } });
      if (!response.ok) throw await failureOf(response);
      download(`report-${id}.html`, await response.blob());
    });
  return (
    <p class="actions">
      <button type="button" disabled={busy !== null} onClick={() => void get()}>
        Download report
      </button>
      <button type="button" onClick={() => setSharing(true)}>
        Share a link
      </button>
      {failure && (
        <span class="wrong" role="alert">
          {failure.text}
        </span>
      )}
      {sharing && <Links id={id} close={() => setSharing(false)} />}
    </p>
  );
}
