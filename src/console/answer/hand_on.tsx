/** The report of a request to hand on: as a file, and by links that end. */
import { useState } from 'preact/hooks';
import { answered, call } from '../api/client.ts';
import { useCall } from '../api/use_call.ts';
import { Copy, download } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Form, Labelled, textIn, WorkButton } from '../parts/form.tsx';
import { Await } from '../parts/states.tsx';
import { Time } from '../parts/values.tsx';

const LASTS = [
  [24, 'a day'],
  [168, 'a week'],
  [720, '30 days'],
] as const;

/** Links of this request that work; their addresses are not kept. */
function Links({ id, close }: { id: string; close: () => void }) {
  const [made, setMade] = useState<string | null>(null);
  const asked = useCall('GET media/link', { query: { request: id } });
  const make = async (values: FormData): Promise<void> => {
    const body = { hours: Number(textIn(values, 'hours')) };
    const { url } = await call('POST media/log/:id/link', { params: { id }, body });
    setMade(new URL(url, location.href).href);
    asked.again();
  };
  const end = async (link: string): Promise<void> => {
    await call('DELETE media/link/:id', { params: { id: link } });
    setMade(null);
    asked.again();
  };
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
                <WorkButton kind="small" work={() => end(link)}>
                  End this link
                </WorkButton>
              </li>
            ))}
          </ul>
        )}
      </Await>
    </Dialog>
  );
}

export function HandOn({ id }: { id: string }) {
  const [sharing, setSharing] = useState(false);
  const get = async (): Promise<void> => {
    const response = await answered('GET media/log/:id/report', { params: { id } });
    download(`report-${id}.html`, await response.blob());
  };
  return (
    <p class="actions">
      <WorkButton work={get}>Download report</WorkButton>
      <button type="button" onClick={() => setSharing(true)}>
        Share a link
      </button>
      {sharing && <Links id={id} close={() => setSharing(false)} />}
    </p>
  );
}
