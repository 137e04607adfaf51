/** A request that was sent: its four steps with their times, the way to cancel it, then its answer. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { asToken, type HeldToken } from '../api/gateway.ts';
import { ask, call, isFailure } from '../api/client.ts';
import { type Failure, failureOf, offline } from '../api/failure.ts';
import { queryPairs, targetOf } from '../../api_calls.ts';
import type { Accepted, Standing } from '../../api_types.ts';
import { Answer, Summary } from '../answer/answer.tsx';
import { useAsked, useRepeated, useWork } from '../api/use_call.ts';
import { Await, Empty, Refused, Wrong } from '../parts/states.tsx';
import { Reason } from '../parts/values.tsx';
import { hrefOf, usePlace } from '../router.ts';
import { openAnswer } from '../worker/open_answer.ts';
import { stepOf, Steps, timesOfRecord, timesOfStanding, titleOf } from './steps.tsx';

// A request from its sending to its end, by the calls that any program with a token can make.

/** With a file: as a form, its fields before the file. */
function formOf(body: object, file: File): FormData {
  const form = new FormData();
  for (const [name, value] of queryPairs(body)) if (name !== 'url') form.append(name, value);
  form.append('file', file);
  return form;
}

const AT_ONCE = { Prefer: 'respond-async' };

/** Answered at once with the id of the request; a file is sent first. */
export async function send(
  name: 'POST /v1/probe/file' | 'POST /v1/compare',
  body: object,
  bearer: string,
  upload: Upload | null = null,
): Promise<string> {
  const sending = async (): Promise<string> => {
    const text = { type: 'application/json', content: JSON.stringify(body) };
    const headers = { ...AT_ONCE, Authorization: `Bearer ${bearer}` };
    const response = upload
      ? await sendFile(targetOf(name).path, formOf(body, upload.file), headers, upload)
      : await ask(name, { bearer, text }, AT_ONCE);
    if (!response.ok) throw await failureOf(response);
    const { metadata } = (await response.json()) as Accepted;
    return metadata.request_id;
  };
  return asToken(sending());
}

/** How a request stands; `failure`: it ended, and not with a result. */
type Followed = { standing: Standing } | { ended: true; failure: Failure | null };

/** Ended requests are in the log; a refusal to say anything is not an end. */
async function hasEnded(id: string): Promise<boolean> {
  const { log } = await call('GET media/log', { query: { request: id } });
  return log.length > 0;
}

async function follow(id: string, bearer: string, signal: AbortSignal): Promise<Followed> {
  const response = await ask('GET /v1/probe/:id', { params: { id }, bearer, signal });
  if (response.status === 202) return { standing: (await response.json()) as Standing };
  if (response.ok) {
    // The page of the request reads the result, and not by this token.
    await response.body?.cancel();
    return { ended: true, failure: null };
  }
  const failure = await failureOf(response);
  if (response.status === 401) return asToken(Promise.reject(failure));
  if (await hasEnded(id)) return { ended: true, failure };
  throw failure;
}

/** It may have ended meanwhile: then there is nothing to cancel. */
async function cancel(id: string, bearer: string): Promise<void> {
  try {
    await asToken(call('POST /v1/probe/:id/cancel', { params: { id }, bearer }));
  } catch (error) {
    if (!isFailure(error) || error.status !== 409) throw error;
  }
}

/** At first a request moves within moments; later a look each two seconds is enough. */
const pauseAfter = (looks: number): number => Math.min(2_000, 250 * 1.5 ** Math.min(looks, 10));

function useRun(id: string, bearer: string) {
  const looks = useRef(0);
  const { asked } = useRepeated<Followed>({
    key: `run ${id} ${bearer}`,
    ask(signal) {
      looks.current += 1;
      return follow(id, bearer, signal);
    },
    everyMs: pauseAfter(looks.current),
    isLast: (told) => 'ended' in told,
    goesOn: ({ kind }) => kind === 'busy',
  });
  const { data, failure, again } = asked;
  const last = useRef<Standing | null>(null);
  if (data && 'standing' in data) last.current = data.standing;
  const standing = last.current;
  /** When the last step was first seen: the clock of this page. */
  const since = useMemo(() => performance.now(), [JSON.stringify(standing?.steps)]);
  // Where it could not be asked for, it may still run.
  return { standing, since, ended: data && 'ended' in data ? data : null, failure, again };
}

/** `standing`: when it was last asked about. */
function Ended({ id, failure, standing }: { id: string; failure: Failure | null; standing: Standing | null }) {
  const asked = useAsked(`answer ${id}`, (signal) => openAnswer(id, signal));
  const known = asked.data ? timesOfRecord(asked.data.facts) : standing ? timesOfStanding(standing) : {};
  return (
    <>
      <Steps times={known} now={null} />
      {failure && (
        <div class="notice refused" role="status">
          <h2>{failure.status === 499 ? 'Cancelled' : `It ended with status ${failure.status}`}</h2>
          <p>
            <Reason text={failure.text} code={failure.code} />
          </p>
        </div>
      )}
      <p>
        <a href={hrefOf(`/requests/${id}`)}>The page of this request</a>
      </p>
      <Await asked={asked} what="the answer">
        {(answer) => (
          <>
            <Summary answer={answer} />
            <Answer answer={answer} />
          </>
        )}
      </Await>
    </>
  );
}

function Cancel({ id, bearer }: { id: string; bearer: string }) {
  const [cancelled, setCancelled] = useState(false);
  const { busy, failure, start } = useWork();
  const work = (): Promise<void> =>
    start('cancel', async () => {
      await cancel(id, bearer);
      setCancelled(true);
    });
  const asked = cancelled || busy !== null;
  return (
    <>
      <button type="button" class="danger" disabled={asked} onClick={() => void work()}>
        {asked ? 'Cancelling …' : 'Cancel'}
      </button>
      <Wrong failure={failure} />
    </>
  );
}

function Run({ id, token }: { id: string; token: HeldToken }) {
  const state = useRun(id, token.text);
  const { standing } = state;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus();
    heading.current?.scrollIntoView({ block: 'start' });
  }, []);
  return (
    <section class="run">
      <h2 ref={heading} tabIndex={-1}>
        Request <code>{id}</code>
      </h2>
      <p class="unseen" role="status">
        {state.ended ? titleOf('recorded') : titleOf(stepOf(standing))}
      </p>
      {state.failure && <Refused failure={state.failure} again={state.again} />}
      {state.ended ? (
        <Ended id={id} failure={state.ended.failure} standing={standing} />
      ) : (
        <>
          <Steps
            times={standing ? timesOfStanding(standing) : {}}
            now={stepOf(standing)}
            since={state.since}
            why={standing?.waiting?.text}
            progress={standing?.progress}
          />
          <p class="actions">
            <Cancel id={id} bearer={token.text} />
          </p>
        </>
      )}
    </section>
  );
}

interface BenchProps {
  token: HeldToken;
  /** Where the answer will be. */
  hint: ComponentChildren;
  title: string;
  children: ComponentChildren;
}

/** The form, and beside it the answer of the request that the address names. */
export function Bench({ token, hint, title, children }: BenchProps) {
  const run = usePlace().query.get('run');
  return (
    <div class="bench">
      <div>{children}</div>
      {run === null ? (
        <Empty title={title}>
          <p>{hint}</p>
        </Empty>
      ) : (
        <Run key={run} id={run} token={token} />
      )}
    </div>
  );
}

// A form with a file. `fetch` does not say how much of it has been sent; the older interface of browsers does.

interface Upload {
  file: File;
  /** Between 0 and 1. */
  progress: (share: number) => void;
}

/** The response as it is, of whatever status. Throws a Failure where there is none. */
function sendFile(path: string, form: FormData, headers: Record<string, string>, { progress }: Upload) {
  return new Promise<Response>((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener('progress', ({ loaded, total }) => progress(total > 0 ? loaded / total : 0));
    request.addEventListener('error', () => reject(offline()));
    request.addEventListener('load', () => {
      const got = ['Retry-After', 'X-Request-Id'].flatMap((name) => {
        const value = request.getResponseHeader(name);
        return value === null ? [] : [[name, value] as [string, string]];
      });
      resolve(new Response(request.responseText, { status: request.status, headers: got }));
    });
    request.send(form);
  });
}
