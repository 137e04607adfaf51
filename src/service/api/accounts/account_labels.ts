/** Labels of an account, such as a cost centre: for whom its use is charged. They are those of its root user. */
import Type from 'typebox';
import { LABEL_NAME, LABEL_VALUE } from '../../../platform/kube/probe_pool.ts';
import type { AccountLabels } from '../../../platform/store/users.ts';
import { invalid, orNotFound } from '../errors.ts';
import { changesOf, note, withEntry } from '../http/audit.ts';
import { endpoint } from '../http/endpoint.ts';
import { idOf } from '../http/request_context.ts';
import { closed, component, orNull } from '../http/request_fields.ts';
import { Id } from './account_fields.ts';

const MOST = 16;

export const Labels = Type.Record(Type.String(), Type.String(), {
  description: 'By name: `{"cost-centre": "4711", "team": "archive"}`.',
});

const Answer = component('AccountLabels', { labels: Labels });

const isName = (name: string): boolean => name.length <= 316 && new RegExp(LABEL_NAME).test(name);

/** The labels as they will be. Pure. */
export function changedLabels(
  before: AccountLabels,
  asked: Readonly<Record<string, string | null>>,
): Record<string, string> {
  if (!Object.keys(asked).every(isName))
    throw invalid(
      'labels',
      'a name must be that of a label of Kubernetes: at most 63 letters, digits, "-", "_" and ".", such as ' +
        'cost-centre, with a domain and "/" before it if wanted',
    );
  const given = Object.entries({ ...before, ...asked });
  const labels = given.filter((one): one is [string, string] => one[1] !== null);
  if (labels.length > MOST)
    throw invalid('labels', `an account has at most ${MOST} labels, and would have ${labels.length}`);
  return Object.fromEntries(labels);
}

export const readLabels = endpoint('GET user/:id/labels', {
  id: 'readAccountLabels',
  summary: "An account's labels",
  params: { id: Id },
  answer: { description: 'Those of the account of the user.', schema: Answer },
  async work({ store }, ctx) {
    const { rootId } = orNotFound(await store.findUser(idOf(ctx)));
    return { labels: await store.accountLabels(rootId) };
  },
});
export const changeLabels = endpoint('PUT user/:id/labels', {
  id: 'setAccountLabels',
  summary: "Set an account's labels",
  params: { id: Id },
  body: closed({
    labels: Type.Record(Type.String(), orNull(Type.String({ pattern: LABEL_VALUE, description: 'Null removes it.' })), {
      maxProperties: 2 * MOST,
      description: 'By name. Names and values have the form of labels of Kubernetes.',
    }),
  }),
  description:
    `Such as a cost centre, for the chargeback. Of root users only; at most ${MOST}. Omitted labels keep their ` +
    'value. They outlive the account in its chargeback: they must not name a person.',
  answer: { description: 'The changed labels.', schema: Answer },
  async work(deps, ctx, asked) {
    const { id, rootId } = orNotFound(await deps.store.findUser(idOf(ctx)));
    if (id !== rootId) throw invalid('labels', `can only be set on the root user of the account, user ${rootId}`);
    const labels = await withEntry(deps, ctx, async (store) => {
      const before = orNotFound(await store.holdLabels(id));
      const after = changedLabels(before, asked.labels);
      await store.setLabels(id, after);
      note(ctx, { changes: changesOf({ labels: before }, { labels: after }) });
      return after;
    });
    return { labels };
  },
});
