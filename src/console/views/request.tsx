/** One request of the log: what was asked, what each tool said. */
import { Answer } from '../answer/answer.tsx';
import { useAsked } from '../api/use_call.ts';
import { Copy } from '../parts/copy.tsx';
import { Await } from '../parts/states.tsx';
import { Status } from '../parts/status.tsx';
import { Stranger } from '../parts/stranger.tsx';
import { Time } from '../parts/time.tsx';
import { hrefOf } from '../router.ts';
import { openAnswer, type OpenAnswer } from '../worker/open_answer.ts';

function Shown({ answer }: { answer: OpenAnswer }) {
  const { facts } = answer;
  const { id, url, send, type, status } = facts;
  return (
    <>
      <p class="lead">
        <Status of={status} /> <Stranger text={url} />
      </p>
      <dl class="facts">
        <dt>Id</dt>
        <dd>
          <code>{id}</code>{' '}
          <Copy text={() => id} label="Copy the id">
            Copy
          </Copy>
        </dd>
        <dt>Sent</dt>
        <dd>
          <Time iso={send} />
        </dd>
        <dt>Kind</dt>
        <dd>{type}</dd>
        {type === 'file' && (
          <>
            <dt>Tools</dt>
            <dd class="statuses">
              ffprobe <Status of={facts['status-ffprobe']} /> · mediainfo <Status of={facts['status-mediainfo']} /> ·
              report <Status of={facts['status-probe-report']} />
            </dd>
          </>
        )}
        <dt>Token</dt>
        <dd>
          <a href={hrefOf(`/tokens/${facts['token-id']}`)}>{facts['token-id']}</a>
        </dd>
        <dt>Webhooks</dt>
        <dd>
          <a href={hrefOf('/deliveries', new URLSearchParams({ request: id }))}>Deliveries of this request</a>
        </dd>
      </dl>
      <Answer answer={answer} />
    </>
  );
}

export function Request({ params }: { params: Record<string, string> }) {
  const id = params['id']!;
  const asked = useAsked(id, (signal) => openAnswer(id, signal));
  return (
    <>
      <p>
        <a href={hrefOf('/requests')}>All requests</a>
      </p>
      <Await asked={asked} what="the request">
        {(answer) => <Shown answer={answer} />}
      </Await>
    </>
  );
}
