/** A new source: its bucket, its times, and the template that the playground has made. */
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { asToken } from '../api/gateway.ts';
import { Check, Field, Form, isChecked, numberIn } from '../parts/form.tsx';
import { WithToken } from '../parts/with_token.tsx';
import { PolicyField } from '../playground/fields.tsx';
import { hrefOf, usePlace } from '../router.ts';
import { tokenChosen } from './batches.tsx';
import {
  BucketFields,
  bucketIn,
  EndsWithSession,
  headIn,
  Limits,
  read,
  type ReadyProps,
  Template,
  templateOf,
} from './new_batch.tsx';
import { EventsAddress, type Keyed } from './source.tsx';

const TIMES = [
  { name: 'every', label: 'Listed every', min: 60, help: 'Empty: once, and then its events alone.', value: 3_600 },
  { name: 'settle', label: 'Unchanged for', min: 0, help: 'An object that still changes waits.', value: 60 },
  { name: 'bundle', label: 'A batch at most every', min: 1, value: 60 },
] as const;

function Ready({ token, tools, policies }: ReadyProps) {
  const { query } = usePlace();
  const [made, setMade] = useState<Keyed | null>(null);
  const probe = templateOf(query, tools);
  if (made)
    return (
      <EventsAddress source={made}>
        <a href={hrefOf(`/sources/${made.id}`, tokenChosen())}>The source</a>
      </EventsAddress>
    );
  return (
    <Form
      submit="Create the source"
      work={async (values) => {
        const { settle, bundle } = { settle: numberIn(values, 'settle'), bundle: numberIn(values, 'bundle') };
        const body = {
          ...headIn(values, probe),
          bucket: bucketIn(values),
          every: numberIn(values, 'every'),
          ...(settle === null ? {} : { settle }),
          ...(bundle === null ? {} : { bundle }),
          existing: isChecked(values, 'existing'),
        };
        setMade(await asToken(call('POST /v1/source', { body, bearer: token.text })));
      }}
    >
      {token.made && <EndsWithSession what="source" command="probeyard source" />}
      <Field name="name" label="Name" maxLength={200} autoComplete="off" help="For people. It may be empty." />
      <BucketFields />
      {TIMES.map((field) => (
        <Field key={field.name} {...field} type="number" unit="seconds" />
      ))}
      <Check name="existing" label="Also probe the objects that are there now" checked />
      <PolicyField policies={policies} />
      <Template probe={probe} />
      <Limits />
    </Form>
  );
}

export const NewSource = () => (
  <WithToken what="the tool versions" read={read}>
    {([{ tools }, { policies }], token) => <Ready token={token} tools={tools} policies={policies} />}
  </WithToken>
);
