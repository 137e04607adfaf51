/** charts/probeyard/dashboards: Grafana's JSON of each dashboard. The chart replaces what stands between `@`. */
import type { Dashboard, Panel } from './table.ts';

const WIDTH = 12;
const HEIGHT = 8;
const SOURCE = { type: 'prometheus', uid: '${source}' };

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
      templating: {
        list: [{ name: 'source', label: 'Data source', type: 'datasource', query: 'prometheus' }],
      },
      panels: panels.map(panel),
    },
    null,
    2,
  )}\n`;
