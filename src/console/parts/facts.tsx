/** Names and values of a file or a request. Values are text of strangers; those that are not known are left out. */
import { Stranger } from './stranger.tsx';

export function Facts({ facts }: { facts: readonly (readonly [name: string, value: string | undefined])[] }) {
  return (
    <dl class="facts">
      {facts.flatMap(([name, value]) =>
        value === undefined || value === ''
          ? []
          : [
              <dt key={name}>{name}</dt>,
              <dd key={`${name} value`}>
                <Stranger text={value} />
              </dd>,
            ],
      )}
    </dl>
  );
}
