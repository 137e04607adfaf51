/** Tabs: the one that is open stands in the address, and the arrow keys go from one to the next. */
import type { ComponentChildren, TargetedKeyboardEvent } from 'preact';
import { useId } from 'preact/hooks';
import { changed, go, usePlace } from '../router.ts';

export interface Tab {
  name: string;
  title: string;
  /** Beside the title: how many. */
  count?: number;
  show: () => ComponentChildren;
}

const STEPS: Record<string, (index: number, last: number) => number> = {
  ArrowRight: (index, last) => (index === last ? 0 : index + 1),
  ArrowLeft: (index, last) => (index === 0 ? last : index - 1),
  Home: () => 0,
  End: (_, last) => last,
};

export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const id = useId();
  const { path, query } = usePlace();
  const found = tabs.findIndex(({ name }) => name === query.get('tab'));
  const open = Math.max(0, found);
  const choose = (index: number) => go(path, changed(query, { tab: index === 0 ? null : tabs[index]!.name }), true);
  const step = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const next = STEPS[event.key]?.(open, tabs.length - 1);
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
    event.currentTarget.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus();
  };
  return (
    <>
      <div role="tablist" aria-label={label} class="tabs" onKeyDown={step}>
        {tabs.map(({ name, title, count }, index) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            aria-selected={index === open}
            aria-controls={`${id}-panel`}
            tabIndex={index === open ? 0 : -1}
            onClick={() => choose(index)}
          >
            {title}
            {count !== undefined && <span class="unit"> {count}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${tabs[open]!.name}`} tabIndex={0} class="panel">
        {tabs[open]!.show()}
      </div>
    </>
  );
}
