/** One request of the log: what was asked, what each tool said. */
import { Answer } from '../answer/answer.tsx';
import type { Answer as AnswerOf } from '../api/client.ts';
import { useCall } from '../api/use_call.ts';
import { Copy } from '../parts/copy.tsx';
import { Await } from '../parts/states.tsx';
import { Status } from '../parts/status.tsx';
import { Stranger } from '../parts/stranger.tsx';
import { Time } from '../parts/time.tsx';
import { hrefOf } from '../router.ts';

type Detail = AnswerOf<'GET media/log/:id'>;

function Shown({ detail }: { detail: Detail }) {
  const { id, url, send, type, status } = detail;
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
              ffprobe <Status of={detail['status-ffprobe']} /> · mediainfo <Status of={detail['status-mediainfo']} /> ·
              report <Status of={detail['status-probe-report']} />
            </dd>
          </>
        )}
        <dt>Token</dt>
        <dd>
          <a href={hrefOf(`/tokens/${detail['token-id']}`)}>{detail['token-id']}</a>
        </dd>
        <dt>Webhooks</dt>
        <dd>
          <a href={hrefOf('/deliveries', new URLSearchParams({ request: id }))}>Deliveries of this request</a>
        </dd>
      </dl>
      <Answer detail={detail} />
    </>
  );
}

export function Request({ params }: { params: Record<string, string> }) {
  const asked = useCall('GET media/log/:id', { params: { id: params['id']! } });
  return (
    <>
      <p>
        <a href={hrefOf('/requests')}>All requests</a>
      </p>
      <Await asked={asked} what="the request">
        {(detail) => <Shown detail={detail} />}
      </Await>
    </>
  );
}
