/** charts/probeyard/dashboards: Grafana's JSON of each dashboard. The chart replaces what stands between `@`. */
import type { Dashboard, Panel } from './table.ts';

const WIDTH = 12;
const HEIGHT = 8;
const SOURCE = { type: 'prometheus', uid: '${source}' };

/** A choice of what the query finds, or everything: series without the label, too. */
const choice = (name: string, label: string, query: string, chosen: string) => ({
  name,
  label,
  type: 'query',
  datasource: SOURCE,
  query,
  refresh: 2,
  includeAll: true,
  allValue: '.*',
  current: chosen === 'All' ? { text: 'All', value: '$__all' } : { text: chosen, value: chosen },
});
const VARIABLES = [
  { name: 'source', label: 'Data source', type: 'datasource', query: 'prometheus' },
  choice('cluster', 'Cluster', 'label_values(probeyard_build_info, cluster)', 'All'),
  choice('namespace', 'Namespace', 'label_values(probeyard_build_info{cluster=~"$cluster"}, namespace)', '@namespace@'),
];

function panel({ title, text, unit, single, queries }: Panel, index: number): object {
  return {
    id: index + 1,
    type: single ? 'stat' : 'timeseries',
    title,
    description: text,
    datasource: SOURCE,
    gridPos: { x: (index % 2) * WIDTH, y: Math.floor(index / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: unit === 'percentunit' ? undefined : 0 }, overrides: [] },
    options: single
      ? { reduceOptions: { calcs: ['lastNotNull'] } }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: queries.map(({ expr, legend }, place) => ({
      refId: String.fromCharCode(65 + place),
      datasource: SOURCE,
      expr,
      legendFormat: legend,
    })),
  };
}

export const dashboardFile = ({ name, title, panels }: Dashboard): string =>
  `${JSON.stringify(
    {
      uid: `@name@-${name}`,
      title,
      tags: ['probeyard'],
      editable: true,
      schemaVersion: 39,
      refresh: '30s',
      time: { from: 'now-3h', to: 'now' },
      templating: { list: VARIABLES },
      panels: panels.map(panel),
    },
    null,
    2,
  )}\n`;
