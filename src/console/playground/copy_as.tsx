/** The request as a command, as JSON and as a resource: to be taken elsewhere. */
import type { AvailableTool } from '../../api_types.ts';
import { Copy } from '../parts/copy.tsx';
import { Stranger } from '../parts/values.tsx';
import { hrefOf, usePlace } from '../router.ts';
import { curlOf, jsonOf, yamlOf } from './copies.ts';
import { ADDRESS, bodyOf, hasSecrets, withoutDefaults, withoutSecrets } from './form.ts';

interface CopyAsProps {
  url: string;
  tools: readonly AvailableTool[];
}

export function CopyAs({ url, tools }: CopyAsProps) {
  const { path, query } = usePlace();
  const body = bodyOf(url, query, tools);
  const forms = [
    ['curl', curlOf(location.origin, body)],
    ['JSON', jsonOf(body)],
    ['ProbeJob', yamlOf(url, query, tools)],
  ] as const;
  const link = () => {
    const own = withoutDefaults(query, tools);
    for (const name of ['run', 'tab', 'find', 'output', 'token']) own.delete(name);
    own.set(ADDRESS, withoutSecrets(url));
    return `${location.origin}${hrefOf(path, own)}`;
  };
  return (
    <section class="copy-as">
      <h2>Copy as</h2>
      {hasSecrets(url) && (
        <p class="wrong">
          The address has credentials or values in its query. curl and JSON hold them; the link and the resource do not.
        </p>
      )}
      {forms.map(([name, text]) => (
        <details key={name}>
          <summary>{name}</summary>
          <pre class="output" tabIndex={0} aria-label={`The request as ${name}`}>
            {text.split('\n').map((line, index) => (
              <span key={index}>
                <Stranger text={line} most={2_000} />
                {'\n'}
              </span>
            ))}
          </pre>
          <Copy text={() => text} label={`Copy as ${name}`}>
            Copy
          </Copy>
        </details>
      ))}
      <p class="help">Headers, cookies, credentials and files are in no copy.</p>
      <p class="actions">
        <Copy text={link}>Copy a link to this form</Copy>
      </p>
    </section>
  );
}
