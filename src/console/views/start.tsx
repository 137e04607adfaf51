/** Where `/app/` leads to: the requests, or a first one in the playground for those who have sent none. */
import { useEffect } from 'preact/hooks';
import { call, isFailure } from '../api/client.ts';
import { withAnyToken } from '../parts/with_token.tsx';
import { go, placeNow } from '../router.ts';
import { may, useUser } from '../session.ts';

/** Unless the reader has gone elsewhere meanwhile. */
const goFrom = (from: string, path: string, query: URLSearchParams): void => {
  if (placeNow().path === from) go(path, query, true);
};

/** The playground with a sample in it: one click leads to an answer. */
export async function goToFirstProbe(): Promise<void> {
  const from = placeNow().path;
  const query = new URLSearchParams();
  try {
    const { samples } = await withAnyToken((bearer) => call('GET /v1/samples', { bearer }));
    const [first] = samples;
    if (first) query.set('url', first.url);
  } catch (error) {
    // The playground asks for the same, and says what was wrong.
    if (!isFailure(error)) throw error;
  }
  goFrom(from, '/playground', query);
}

async function hasSent(): Promise<boolean> {
  try {
    return (await call('GET media/log', { query: { pagination: { limit: 1 } } })).log.length > 0;
  } catch (error) {
    if (!isFailure(error)) throw error;
    return true;
  }
}

export function Start() {
  const user = useUser();
  useEffect(() => {
    const start = async (): Promise<void> => {
      if (!may(user, 'write:media') || (await hasSent())) goFrom('/', '/requests', placeNow().query);
      else await goToFirstProbe();
    };
    void start();
  }, []);
  return null;
}
