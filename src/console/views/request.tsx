/** One request of the log: whether the file is fine, what each tool said, and what can be done with it. */
import { Answer, Summary } from '../answer/answer.tsx';
import { signalsOf, verdictOf } from '../answer/sentence.ts';
import { call, answered } from '../api/client.ts';
import { useAsked, useCall } from '../api/use_call.ts';
import { Copy, download } from '../parts/copy.tsx';
import { AskFirst, Dialog } from '../parts/dialog.tsx';
import { Facts as FactList, Sums } from '../parts/table.tsx';
import { Await } from '../parts/states.tsx';
import { useTokenNames } from '../parts/names.ts';
import { KIND_NAMES, Status, Stranger, Time } from '../parts/values.tsx';
import { ADDRESS, queryOf, bodyOf, isRedacted, runs } from '../playground/form.ts';
import { after, timesOfRecord } from '../playground/steps.tsx';
import { hrefOf, changed, go } from '../router.ts';
import { may, useUser } from '../session.ts';
import { openAnswer, type OpenAnswer } from '../worker/open_answer.ts';
import type { Facts } from '../worker/protocol.ts';
import { useState } from 'preact/hooks';
import type { AvailableTool } from '../../api_types.ts';
import { withAnyToken } from '../parts/with_token.tsx';
import { send } from '../playground/run.tsx';
import { Field, Form, textIn, WorkButton } from '../parts/form.tsx';

/** What can be done with an ended request. */
function Actions({ facts, again }: { facts: Facts; again: () => void }) {
  const user = useUser();
  const { id, type, url } = facts;
  if (!may(user, 'write:media') || url === '') return null;
  return (
    <>
      {type === 'file' && <Again facts={facts} />}
      {type !== 'compare' && (
        <a class="button small" href={hrefOf('/playground', queryOf(facts))}>
          Open in the playground
        </a>
      )}
      {type === 'file' && (
        <a class="button small" href={hrefOf('/compare', new URLSearchParams({ [ADDRESS]: url }))}>
          Compare versions
        </a>
      )}
      <AskFirst
        button="Delete"
        kind="danger small"
        title="Delete what is kept of this request?"
        danger
        work={async () => {
          await call('DELETE media/log/:id', { params: { id } });
          again();
        }}
      >
        <p>
          Its result, address, options, error and webhooks are erased for good. The row stays in the log and in the
          statistics.
        </p>
      </AskFirst>
    </>
  );
}

/** Why the request or one of its tools failed, in their own words. */
function Failures({ facts }: { facts: Facts }) {
  const errors = Object.entries(facts['tool-errors']);
  const isTold = errors.some(([, error]) => error === facts.error);
  const all = facts.error === undefined || isTold ? errors : [['request', facts.error] as const, ...errors];
  if (all.length === 0) return null;
  const codes = facts['tool-error-codes'];
  return (
    <FactList
      facts={all.map(([name, error]) => [name === 'request' ? 'Error' : `${name} failed`, error, codes[name]])}
    />
  );
}

function Around({ facts }: { facts: Facts }) {
  const { id, send: sent, type } = facts;
  const tokens = useTokenNames();
  const times = timesOfRecord(facts);
  const admitted = times.admitted === null ? 'never admitted' : `admitted ${after(times.admitted ?? 0)}`;
  const token = facts['token-id'];
  const rows = [
    ['Sent', <Time iso={sent} />],
    ['Steps', `${admitted}, recorded ${after(times.recorded ?? 0)}`],
    ['Kind', KIND_NAMES[type]],
    [
      'Token',
      <a href={hrefOf(`/tokens/${token}`)}>{<Stranger text={tokens.get(token) ?? String(token)} most={60} />}</a>,
    ],
    ['Webhooks', <a href={hrefOf('/deliveries', new URLSearchParams({ request: id }))}>Deliveries of this request</a>],
    [
      'Id',
      <>
        <code>{id}</code> <Copy text={() => id} label="Copy the id" />
      </>,
    ],
  ] as const;
  return <Sums kind="around" sums={rows} />;
}

function Shown({ answer, again }: { answer: OpenAnswer; again: () => void }) {
  const { facts, reports } = answer;
  const { url, status } = facts;
  const { tone } = verdictOf(facts, signalsOf(reports));
  return (
    <>
      <section class={`head ${tone}`} aria-label="Summary">
        <Summary answer={answer} />
        <p>
          <Status of={status} />{' '}
          {url === '' ? <span class="unit">what was kept of it is deleted</span> : <Stranger text={url} />}
        </p>
        <Failures facts={facts} />
        <Around facts={facts} />
        <div class="actions">
          {url !== '' && <HandOn id={facts.id} />}
          <Actions facts={facts} again={again} />
        </div>
      </section>
      <Answer answer={answer} />
    </>
  );
}

export function Request({ params }: { params: Record<string, string> }) {
  const id = params['id']!;
  const asked = useAsked(id, (signal) => openAnswer(id, signal));
  return (
    <Await asked={asked} what="the request">
      {(answer) => <Shown answer={answer} again={asked.again} />}
    </Await>
  );
}

// The request once more at another version of a tool: one click sends it.

function Others({ query, tools, bearer }: { query: URLSearchParams; tools: readonly AvailableTool[]; bearer: string }) {
  const url = query.get(ADDRESS) ?? '';
  const again = async (tool: string, version: string): Promise<void> => {
    const other = changed(query, { [`${tool}.version`]: version });
    // What is not on record must be entered first.
    const run = isRedacted(url) ? null : await send('POST /v1/probe/file', bodyOf(url, other, tools), bearer);
    go('/playground', changed(other, { run }));
  };
  const others = tools
    .filter((tool) => tool.selectable && runs(query, tool))
    .flatMap(({ tool, latest, versions }) =>
      versions
        .filter(({ version }) => version !== (query.get(`${tool}.version`) ?? latest))
        .map(({ version }) => [tool, version] as const),
    );
  if (others.length === 0) return <p>No tool of it has another version here.</p>;
  return (
    <p class="actions">
      {others.map(([tool, version]) => (
        <WorkButton key={`${tool} ${version}`} work={() => again(tool, version)}>
          {`${tool} ${version}`}
        </WorkButton>
      ))}
    </p>
  );
}

function Versions({ facts }: { facts: Facts }) {
  const asked = useAsked('versions', (signal) =>
    withAnyToken(async (bearer) => ({ bearer, ...(await call('GET /v1/versions', { bearer, signal })) })),
  );
  return (
    <Await asked={asked} what="the tool versions">
      {({ tools, bearer }) => <Others query={queryOf(facts)} tools={tools} bearer={bearer} />}
    </Await>
  );
}

function Again({ facts }: { facts: Facts }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="menu-of" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="button small">Again at another version</summary>
      <div>{open && <Versions facts={facts} />}</div>
    </details>
  );
}

// The report of a request to hand on: as a file, and by links that end.

const LASTS = [
  ['24', 'a day'],
  ['168', 'a week'],
  ['720', '30 days'],
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
        <Field name="hours" label="It works for" values={LASTS} value="168" />
      </Form>
      {made !== null && (
        <p class="secret">
          <code>{made}</code> <Copy text={() => made} label="Copy the link" /> It is shown this once.
        </p>
      )}
      <Await asked={asked} what="the links">
        {({ links }) => (
          <ul class="also">
            {links.map(({ id: link, expires }) => (
              <li key={link}>
                Works until <Time iso={expires} /> <WorkButton work={() => end(link)}>End this link</WorkButton>
              </li>
            ))}
          </ul>
        )}
      </Await>
    </Dialog>
  );
}

function HandOn({ id }: { id: string }) {
  const [sharing, setSharing] = useState(false);
  const get = async (): Promise<void> => {
    const response = await answered('GET media/log/:id/report', { params: { id } });
    download(`report-${id}.html`, await response.blob());
  };
  return (
    <>
      <WorkButton work={get}>Download report</WorkButton>
      <button type="button" class="small" onClick={() => setSharing(true)}>
        Share a link
      </button>
      {sharing && <Links id={id} close={() => setSharing(false)} />}
    </>
  );
}
