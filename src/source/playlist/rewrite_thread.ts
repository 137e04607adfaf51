import { serveThread } from '../../base/thread.ts';
import { isSourceError } from '../error.ts';
import { rewrite, type Rewriting, type Rewritten } from './rewrite.ts';

/** Entry point of the worker thread that rewrites long playlists. */
export type Answer = Rewritten | { refused: string };

serveThread((asked: Rewriting): Answer => {
  try {
    return rewrite(asked);
  } catch (error) {
    if (!isSourceError(error)) throw error;
    return { refused: error.message };
  }
});
