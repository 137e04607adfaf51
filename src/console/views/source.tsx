/** One source: how it stands, what can be done with it, and its batches. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { asToken, type HeldToken } from '../api/gateway.ts';
import { useRepeated } from '../api/use_call.ts';
import type { Answer } from '../../api_calls.ts';
import type { Source as SourceRow } from '../../api_types.ts';
import { Secret } from '../parts/copy.tsx';
import { AskFirst } from '../parts/dialog.tsx';
import { count, said, seconds } from '../parts/figures.ts';
import { WorkButton } from '../parts/form.tsx';
import { Await, Empty } from '../parts/states.tsx';
import { Sums, Table } from '../parts/table.tsx';
import { Elapsed, Status, Stranger, Time } from '../parts/values.tsx';
import { WithToken } from '../parts/with_token.tsx';
import { go, usePlace } from '../router.ts';
import { may, useUser } from '../session.ts';
import { atOnce, COLUMNS, LOOK_MS, tokenChosen } from './batches.tsx';
import { waitingOf } from './sources.tsx';

type Shown = Answer<'GET /v1/source/:id'>;
/** With a key of its events. */
export type Keyed = Answer<'POST /v1/source'>;

/** It is on the page this once. */
export function EventsAddress({
  source: { id, events_key: key },
  children,
}: {
  source: Keyed;
  children: ComponentChildren;
}) {
  return (
    <section class="notice made" role="status">
      <h2>The address for its events</h2>
      <p>Let the bucket send its events there. Copy it now: it is not shown again.</p>
      <Secret label="Address" text={`${location.origin}/v1/source/${id}/events?key=${key}`} />
      <p class="actions">{children}</p>
    </section>
  );
}

function listingOf({ last_listing: last }: Shown): string {
  if (last === null) return 'It has not been listed yet.';
  if (last.error !== null) return `The last listing failed: ${last.error}.`;
  return `${count(last.found)} objects were found, ${count(last.filtered)} are not wanted.`;
}

const kindOf = ({ state, last_listing: last }: Shown): string =>
  state === 'stopped' || last?.error ? 'bad' : state === 'running' ? 'good' : 'none';

function Head({ source }: { source: Shown }) {
  const { state, text, name, url, events, last_listing: last, next_listing_at: next, every } = source;
  const { noted, ignored, confirmation_waiting: isWaiting, confirmation_host: host } = events;
  return (
    <section class={`head ${kindOf(source)}`} aria-label="How it stands">
      <p class="verdict">
        <Status of={state} />
        <span>
          {listingOf(source)}
          {text !== null && ` ${text}`}
        </span>
      </p>
      <p>
        {name !== null && (
          <>
            <Stranger text={name} />:{' '}
          </>
        )}
        <Stranger text={url} />
      </p>
      {isWaiting && (
        <p>
          SNS waits for a confirmation of its subscription
          {host !== null && (
            <>
              {' '}
              at <Stranger text={host} />
            </>
          )}
          . It is not confirmed from here.
        </p>
      )}
      <Sums
        kind="around"
        sums={[
          ['Objects', count(source.objects)],
          ['Waiting', waitingOf(source)],
          ['Events', `${count(noted)} noted, ${count(ignored)} ignored`],
          ['Listed', last === null ? 'never' : <Time iso={last.at} />],
          ['Next listing', next === null ? 'none' : <Time iso={next} />],
          ['Listed every', every === null ? 'when asked to' : said(seconds(every))],
          ['Created', <Time iso={source.created_at} />],
        ]}
      />
    </section>
  );
}

interface ActionsProps {
  source: Shown;
  bearer: string;
  again: () => void;
  setKeyed: (source: Keyed) => void;
}

function Actions({ source: { id, state }, bearer, again, setKeyed }: ActionsProps) {
  const given = { params: { id }, bearer };
  const act = async (made: Promise<SourceRow>): Promise<void> => {
    await asToken(made);
    again();
  };
  if (state === 'deleting') return null;
  return (
    <>
      {state === 'running' ? (
        <>
          <WorkButton work={() => act(call('POST /v1/source/:id/pause', given))}>Pause</WorkButton>
          <WorkButton work={() => act(call('POST /v1/source/:id/list', given))}>List now</WorkButton>
        </>
      ) : (
        <WorkButton work={() => act(call('POST /v1/source/:id/resume', given))}>Resume</WorkButton>
      )}
      <AskFirst
        button="New key of events"
        kind="small"
        title="Make a new key of events?"
        submit="Make the key"
        work={async () => setKeyed(await asToken(call('POST /v1/source/:id/key', given)))}
      >
        <p>The key before is refused at once: the bucket must be told the new address.</p>
      </AskFirst>
      <AskFirst
        button="Delete the source"
        kind="small danger"
        danger
        work={async () => {
          await asToken(call('DELETE /v1/source/:id', given));
          go('/sources', tokenChosen());
        }}
      >
        <p>Its batches are cancelled and stay on record. What is known of its objects is forgotten.</p>
      </AskFirst>
    </>
  );
}

interface Looked {
  source: Shown;
  page: Answer<'GET /v1/batch'>;
}

function useSource(id: string, bearer: string) {
  const before = usePlace().query.get('page');
  return useRepeated<Looked>({
    key: `source ${id} ${bearer} ${before}`,
    everyMs: LOOK_MS,
    async ask(signal) {
      const [source, page] = await asToken(
        Promise.all([
          call('GET /v1/source/:id', { params: { id }, bearer, signal }),
          call('GET /v1/batch', { query: { source: id, before }, bearer, signal }),
        ] as const),
      );
      return { source, page };
    },
  });
}

function Followed({ id, token: { text: bearer } }: { id: string; token: HeldToken }) {
  const { asked, at } = useSource(id, bearer);
  const [keyed, setKeyed] = useState<Keyed | null>(null);
  const mayAct = may(useUser(), 'write:media');
  return (
    <Await asked={asked} what="the source">
      {({ source, page: { batches, next } }) => (
        <>
          <Head source={source} />
          <p class="actions">
            {mayAct && <Actions source={source} bearer={bearer} again={asked.again} setKeyed={setKeyed} />}
            <span class="unit">
              Renewed every {LOOK_MS / 1_000} s. <Elapsed since={at} whole /> old.
            </span>
          </p>
          {keyed && (
            <EventsAddress source={keyed}>
              <button type="button" class="small" onClick={() => setKeyed(null)}>
                Done
              </button>
            </EventsAddress>
          )}
          <h2>Batches</h2>
          <Table caption="Batches" columns={COLUMNS} rows={batches} keyOf={(batch) => batch.id} next={next}>
            <Empty title="It has made no batch">
              <p>A batch is made as soon as an object has not changed for {said(seconds(source.settle))}.</p>
            </Empty>
          </Table>
        </>
      )}
    </Await>
  );
}

export const Source = ({ params }: { params: Record<string, string> }) => (
  <WithToken what="a token" read={atOnce}>
    {(_, token) => <Followed id={params['id']!} token={token} />}
  </WithToken>
);
