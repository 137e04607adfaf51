/** Policies: those of the account, and the shared ones of the installation. */
import { call } from '../api/client.ts';
import type { PolicyRow } from '../../api_types.ts';
import { strangerColumn, timeColumn, Table, type Column } from '../parts/table.tsx';
import { Field, Form, textIn } from '../parts/form.tsx';
import { Empty } from '../parts/states.tsx';
import { Mark } from '../parts/values.tsx';
import { WithToken } from '../parts/with_token.tsx';
import { go, hrefOf } from '../router.ts';

const COLUMNS: readonly Column<PolicyRow>[] = [
  {
    title: 'Name',
    show: ({ name }) => (
      <>
        <a href={hrefOf(`/policies/${name}`)}>{name}</a>
        {name.startsWith('shared/') && <Mark text="shared" />}
      </>
    ),
    text: ({ name }) => name,
  },
  strangerColumn('For what', ({ description = '' }) => description, { most: 120 }),
  { title: 'Revision', text: ({ revision }) => String(revision), right: true },
  timeColumn('Saved', (row) => row.created_at),
];

/** As the API accepts it, so that a wrong one is told before anything is written. */
export const PolicyName = (field: { label: string; value?: string; placeholder?: string }) => (
  <Field
    name="name"
    required
    maxLength={64}
    pattern="[a-z0-9]([a-z0-9._\-]*[a-z0-9])?"
    help={'1 to 64 lower-case letters, digits, ".", "_" and "-", the first and the last a letter or digit.'}
    {...field}
  />
);

const read = (bearer: string, signal: AbortSignal) => call('GET /v1/policy', { bearer, signal });

export const Policies = () => (
  <>
    <Form
      submit="Write a policy"
      work={async (values) => {
        go(`/policies/${encodeURIComponent(textIn(values, 'name').trim())}`);
      }}
    >
      <PolicyName label="Name of a new policy" placeholder="house-delivery" />
    </Form>
    <WithToken what="the policies" read={read}>
      {({ policies }) =>
        policies.length === 0 ? (
          <Empty title="There are no policies">
            <p>A policy is a list of rules about a file. A request that names it is judged by it.</p>
          </Empty>
        ) : (
          <Table caption="Policies" columns={COLUMNS} rows={policies} keyOf={({ name }) => name} />
        )
      }
    </WithToken>
  </>
);
