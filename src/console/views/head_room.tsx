/** How near a token or a user is to the limits: the busiest minute of the last hour, and this month's quota. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Limits, LimitsInForce } from '../../api_types.ts';
import { useCall } from '../api/use_call.ts';
import { bytes, count, milliseconds, said, seconds } from '../parts/figures.ts';
import { Await } from '../parts/states.tsx';
import { bucketsOf, summed } from './usage_figures.ts';

const HOUR_MS = 3_600_000;

interface RoomProps {
  label: string;
  used: number;
  /** Null: there is no limit. */
  limit: number | null;
  figure: (value: number) => string;
}

export function Room({ label, used, limit, figure }: RoomProps) {
  const share = limit === null ? 0 : used / limit;
  return (
    <div class="room">
      <dt>{label}</dt>
      <dd>
        {limit === null ? (
          <>
            {figure(used)} <span class="unit">without a limit</span>
          </>
        ) : (
          <>
            <meter aria-label={label} min={0} max={limit} high={limit * 0.8} value={Math.min(used, limit)} />
            <span class={share >= 0.8 ? 'near' : undefined}>
              {figure(used)} of {figure(limit)}
              {share >= 0.8 && (share >= 1 ? ' (reached)' : ' (near)')}
            </span>
          </>
        )}
      </dd>
    </div>
  );
}

/** Whose figures: of one token, or of one user by all tokens. */
export type Whose = { 'token-id': number[] } | { 'user-id': number[] };

type RoomRow = readonly [
  label: string,
  used: number | undefined,
  limit: number | undefined,
  figure: RoomProps['figure'],
];

interface RoomsProps {
  whose: Whose;
  own: Pick<Limits, 'monthly-quota'>;
  inForce: LimitsInForce;
  /** Rooms that only some pages know. */
  children?: ComponentChildren;
}

export function Rooms({ whose, own, inForce, children }: RoomsProps) {
  const key = JSON.stringify(whose);
  const [hour, month] = useMemo(() => {
    const now = new Date();
    return [
      new Date(now.getTime() - HOUR_MS).toISOString(),
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())).toISOString(),
    ];
  }, [key]);
  const minutes = useCall('GET statistics/usage', {
    query: { ...whose, aggregation: 'minutely', date: { from: hour } },
  });
  const queue = useCall('GET statistics/queue', {
    query: { ...whose, aggregation: 'no-aggregation', date: { from: hour } },
  });
  const used = useCall('GET statistics/usage', {
    query: { ...whose, aggregation: 'no-aggregation', date: { from: month } },
  });
  const busiest = Math.max(0, ...bucketsOf(minutes.data).map(({ figures }) => figures['request-count'] ?? 0));
  const ofMonth = summed(used.data);
  const quota = own['monthly-quota'];
  const wait = `Longest wait for one of ${count(inForce.concurrency)} at once, last hour`;
  const inTime = (value: number): string => said(milliseconds(value));
  const rooms: readonly RoomRow[] = [
    ['Busiest minute of the last hour', busiest, inForce['requests-per-minute'], (value) => `${count(value)} requests`],
    [wait, summed(queue.data)['queue-time-maximum'], inForce['queue-timeout'], inTime],
    ['Requests this month', ofMonth['request-count'], quota?.['request-count'], count],
    ['Processing time this month', ofMonth['processing-time'], quota?.['processing-time'], inTime],
    ['Data this month', ofMonth['data-processed'], quota?.['data-processed'], (value) => said(bytes(value))],
    [
      'Media decoded this month',
      ofMonth['decoded-seconds'],
      quota?.['decoded-seconds'],
      (value) => said(seconds(value)),
    ],
  ];
  return (
    <dl class="rooms">
      {children}
      {rooms.map(([label, amount = 0, limit = null, figure]) => (
        <Room key={label} label={label} used={amount} limit={limit} figure={figure} />
      ))}
    </dl>
  );
}

export function HeadRoom({ token }: { token: number }) {
  const limits = useCall('GET auth/api-token/:id', { params: { id: token } });
  return (
    <section>
      <h2>Head-room</h2>
      <Await asked={limits} what="the limits">
        {({ limits: own, 'limits-in-force': inForce }) => (
          <Rooms whose={{ 'token-id': [token] }} own={own} inForce={inForce} />
        )}
      </Await>
    </section>
  );
}
