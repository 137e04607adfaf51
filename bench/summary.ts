/** The aims of all sections of docs/reports/measurements.md: how many are reached, and which are missed by how much. */

interface Aim {
  what: string;
  measured: string;
  aim: string;
  isReached: boolean;
}

const cellsOf = (line: string): string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());

/**
 * The verdicts of one row. A table has the columns `aim` and `reached`, or columns `aim ≤ 0.5 ×` whose cells are
 * verdicts on the cell before.
 */
function aimsIn(head: readonly string[], cells: readonly string[]): Aim[] {
  const cell = (name: string): string => cells[head.indexOf(name)] ?? '';
  const what = cells[0] ?? '';
  const verdict = (text: string): boolean | undefined =>
    text.startsWith('yes') ? true : text.startsWith('NO') ? false : undefined;
  const own = verdict(cell('reached'));
  const p50 = [cell('p50'), cell('unit')].filter((part) => part !== '').join(' ');
  const most = cell('p99') === '' ? '' : `, p99 ${cell('p99')}`;
  const measured = cell('figure') || (cell('aim').includes('×') && cell('ratio') !== '' ? cell('ratio') : p50) + most;
  return [
    ...(own === undefined ? [] : [{ what, measured, aim: cell('aim'), isReached: own }]),
    ...head.flatMap((name, index) => {
      const isReached = name.startsWith('aim ') ? verdict(cells[index] ?? '') : undefined;
      return isReached === undefined
        ? []
        : [{ what, measured: cells[index - 1] ?? '', aim: name.slice('aim '.length), isReached }];
    }),
  ];
}

function aimsOf(section: string): Aim[] {
  let head: string[] | undefined;
  return section.split('\n').flatMap((line) => {
    if (!line.startsWith('|')) {
      head = undefined;
      return [];
    }
    const cells = cellsOf(line);
    if (head !== undefined) return aimsIn(head, cells);
    head = cells;
    return [];
  });
}

/** `sections`: the text of each, from its `## name: title`. Those without aims are left out. */
export function summaryOf(sections: readonly string[]): string {
  const all = sections.flatMap((section) => {
    const name = /^## ([^\n:]+)/.exec(section)?.[1] ?? '';
    const aims = aimsOf(section);
    return aims.length > 0 ? [{ name, aims }] : [];
  });
  const lines = all.map(({ name, aims }) => {
    const missed = aims.filter(({ isReached }) => !isReached);
    const texts = missed.map(({ what, measured, aim }) => `${what}: ${measured}, aim ${aim}`);
    return `| ${name} | ${aims.length - missed.length} of ${aims.length} | ${texts.join('; ')} |`;
  });
  return ['## Aims', '', '| section | reached | missed |', '| --- | --- | --- |', ...lines, ''].join('\n');
}
