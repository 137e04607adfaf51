/** One request of the log: whether the file is fine, what was asked, what each tool said. */
import { Answer, Summary } from '../answer/answer.tsx';
import { HandOn } from '../answer/hand_on.tsx';
import { signalsOf, verdictOf } from '../answer/sentence.ts';
import { call } from '../api/client.ts';
import { useAsked } from '../api/use_call.ts';
import { Copy } from '../parts/copy.tsx';
import { AskFirst } from '../parts/dialog.tsx';
import { Facts as FactList, Sums } from '../parts/table.tsx';
import { Await } from '../parts/states.tsx';
import { useTokenNames } from '../parts/names.ts';
import { KIND_NAMES, Status, Stranger, Time } from '../parts/values.tsx';
import { Again } from '../playground/again.tsx';
import { ADDRESS, queryOf } from '../playground/form.ts';
import { after, timesOfRecord } from '../playground/steps.tsx';
import { hrefOf } from '../router.ts';
import { may, useUser } from '../session.ts';
import { openAnswer, type OpenAnswer } from '../worker/open_answer.ts';
import type { Facts } from '../worker/protocol.ts';

/** What can be done with an ended request. */
function Actions({ facts, again }: { facts: Facts; again: () => void }) {
  const user = useUser();
  const { id, type, url } = facts;
  if (!may(user, 'write:media') || url === '') return null;
  return (
    <div class="actions">
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
    </div>
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
  const { id, send, type } = facts;
  const tokens = useTokenNames();
  const times = timesOfRecord(facts);
  const admitted = times.admitted === null ? 'never admitted' : `admitted ${after(times.admitted ?? 0)}`;
  const token = facts['token-id'];
  const rows = [
    ['Sent', <Time iso={send} />],
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
        <code>{id}</code>{' '}
        <Copy text={() => id} label="Copy the id">
          Copy
        </Copy>
      </>,
    ],
  ] as const;
  return <Sums kind="around" sums={rows} />;
}

function Shown({ answer, again }: { answer: OpenAnswer; again: () => void }) {
  const { facts, reports } = answer;
  const { url, status } = facts;
  const { kind } = verdictOf(facts, signalsOf(reports));
  return (
    <>
      <section class={`head ${kind}`} aria-label="Summary">
        <Summary answer={answer} />
        <p>
          <Status of={status} />{' '}
          {url === '' ? <span class="unit">what was kept of it is deleted</span> : <Stranger text={url} />}
        </p>
        <Failures facts={facts} />
        <Around facts={facts} />
        <Actions facts={facts} again={again} />
        {url !== '' && <HandOn id={facts.id} />}
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
