/** What the files of a batch are: how many have each value, which leads to the items that have it. */
import type { BatchSummary } from '../../api_types.ts';
import { count } from '../parts/figures.ts';
import { Stranger } from '../parts/values.tsx';
import { hrefWith } from '../router.ts';

type Facet = keyof BatchSummary;
/** By the name that the address of the page and the API have. */
const TITLES: Record<Facet, string> = {
  container: 'Container',
  video_codec: 'Video codec',
  audio_codec: 'Audio codec',
  hdr: 'HDR',
  policy: 'Policy',
  rule: 'Rules that did not pass',
};
export const FACETS = Object.entries(TITLES) as [Facet, string][];

/** Of a facet: the others are asked for. */
const AT_ONCE = 8;

function Values({ facet, values, most }: { facet: Facet; values: BatchSummary[Facet]; most: number }) {
  return (
    <ul class="also">
      {values.map(({ value, count: items }) => (
        <li key={value} class="measured">
          <meter min={0} max={most} value={items} aria-label={`${value ?? 'others'}: ${items} of ${most} items`} />
          {value === null ? (
            <span class="unit">others</span>
          ) : (
            <a href={hrefWith({ [facet]: value, page: null })}>
              <Stranger text={value} most={60} />
            </a>
          )}
          {count(items)}
        </li>
      ))}
    </ul>
  );
}

/** `ended`: items. */
export function Facets({ summary, ended }: { summary: BatchSummary; ended: number }) {
  const known = FACETS.filter(([facet]) => summary[facet].length > 0);
  if (known.length === 0) return null;
  return (
    <section class="columns" aria-label="What was found">
      {known.map(([facet, title]) => {
        const values = summary[facet];
        const more = values.slice(AT_ONCE);
        return (
          <section key={facet} aria-label={title}>
            <h2>{title}</h2>
            <Values facet={facet} values={values.slice(0, AT_ONCE)} most={ended} />
            {more.length > 0 && (
              <details>
                <summary>{more.length} more</summary>
                <Values facet={facet} values={more} most={ended} />
              </details>
            )}
          </section>
        );
      })}
    </section>
  );
}
