/** What is under this calls probe endpoints: with the token that the address names, else the user's first. */
import { Fragment, type ComponentChildren } from 'preact';
import { call } from '../api/client.ts';
import { asToken, forgotten, MADE_NAME, tokenFor, type HeldToken } from '../api/gateway.ts';
import type { ListedApiToken } from '../../api_types.ts';
import { useAsked, useCall } from '../api/use_call.ts';
import { useCell } from '../cell.ts';
import { hrefOf, usePlace } from '../router.ts';
import { FilterChoice } from './filters.tsx';
import { Await } from './states.tsx';
import { visible } from '../../base/visible.ts';

interface WithTokenProps<T> {
  /** What is read with the token before anything is shown. */
  what: string;
  read: (bearer: string, signal: AbortSignal) => Promise<T>;
  children: (answer: T, token: HeldToken) => ComponentChildren;
}

/** Neither that of jobs made with kubectl nor one that this page made. */
const isUsable = ({ default: ofKubectl, name }: ListedApiToken): boolean => !ofKubectl && name !== MADE_NAME;

/** As many as a user may have. */
const ALL = { page: 1, limit: 100 };

function Chosen<T>({ tokens, what, read, children }: WithTokenProps<T> & { tokens: readonly ListedApiToken[] }) {
  const { query } = usePlace();
  const usable = tokens.filter(isUsable);
  const wanted = Number(query.get('token') ?? Number.NaN);
  const id = (usable.find((one) => one.id === wanted) ?? usable[0])?.id ?? null;
  const asked = useAsked(`${what} ${id} ${useCell(forgotten)}`, async (signal) => {
    const token = await tokenFor(id);
    return { token, answer: await asToken(read(token.text, signal)) };
  });
  const choices = usable.map((one, index) => {
    const title = `${one.id}${one.name === '' ? '' : `: ${visible(one.name).slice(0, 60)}`}`;
    return [index === 0 ? '' : String(one.id), title] as const;
  });
  return (
    <>
      {choices.length > 1 && (
        <div class="filters">
          <FilterChoice name="token" label="Token" values={choices} />
        </div>
      )}
      <Await asked={asked} what={what}>
        {({ token, answer }) => (
          <>
            {token.made && (
              <p class="help">
                No token of yours can be read here: <a href={hrefOf(`/tokens/${token.id}`)}>a token</a> was made for
                this page. It ends with your session, and what you run counts to it.
              </p>
            )}
            {/* What was typed stays where one that was made is made again. */}
            <Fragment key={token.made ? 'made' : token.id}>{children(answer, token)}</Fragment>
          </>
        )}
      </Await>
    </>
  );
}

export function WithToken<T>(given: WithTokenProps<T>) {
  const asked = useCall('GET auth/api-token', { query: { pagination: ALL } });
  return (
    <Await asked={asked} what="your tokens">
      {({ 'api-tokens': tokens }) => <Chosen {...given} tokens={tokens} />}
    </Await>
  );
}

/** Of a button on a page that needs no token otherwise: with the user's first one. */
export async function withAnyToken<T>(work: (bearer: string) => Promise<T>): Promise<T> {
  const { 'api-tokens': tokens } = await call('GET auth/api-token', { query: { pagination: ALL } });
  const { text } = await tokenFor(tokens.find(isUsable)?.id ?? null);
  return asToken(work(text));
}
