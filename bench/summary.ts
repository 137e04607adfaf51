/** The aims of all sections of docs/reports/measurements.md in one table, so that nobody has to search them. */

interface Aim {
  what: string;
  measured: string;
  spread: string;
  against: string;
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
  // The note behind it stands in the section.
  const [what = ''] = (cells[0] ?? '').split(' (');
  const verdict = (text: string): boolean | undefined =>
    text.startsWith('yes') ? true : text.startsWith('NO') ? false : undefined;
  const own = verdict(cell('reached'));
  const p50 = [cell('p50'), cell('unit')].filter((part) => part !== '').join(' ');
  const most = cell('p99') === '' ? '' : `, p99 ${cell('p99')}`;
  const measured = cell('figure') || (cell('aim').includes('×') && cell('ratio') !== '' ? cell('ratio') : p50) + most;
  const against = [cell('compared with'), cell('its p50')].filter((part) => part !== '').join(': ');
  const of = { what, spread: cell('spread'), against };
  return [
    ...(own === undefined ? [] : [{ ...of, measured, aim: cell('aim'), isReached: own }]),
    ...head.flatMap((name, index) => {
      const isReached = name.startsWith('aim ') ? verdict(cells[index] ?? '') : undefined;
      return isReached === undefined
        ? []
        : [{ ...of, measured: cells[index - 1] ?? '', aim: name.slice('aim '.length), isReached }];
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

/** The day, and how busy the machine was before. */
function conditionsOf(section: string): string {
  const day = /\d{4}-\d{2}-\d{2}/.exec(section)?.[0] ?? '';
  const load = /\bload (\d+(?:\.\d+)?)/.exec(section)?.[1];
  return [day, ...(load === undefined ? [] : [`load ${load}`])].filter((part) => part !== '').join(', ');
}

const HEAD = ['section', 'what', 'measured', 'spread', 'compared with', 'aim', 'reached', 'when'];

const inRows = (head: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);

type Named = Aim & { name: string; when: string };

/** On one screen: a line for each section, with what it misses. */
const shortRows = (all: readonly Named[]): string[][] =>
  [...Map.groupBy(all, ({ name }) => name)].map(([name, aims]) => {
    const missed = aims.filter(({ isReached }) => !isReached);
    const [first] = missed;
    const more = missed.length > 1 ? `; and ${missed.length - 1} more` : '';
    return [
      name,
      `${aims.length - missed.length} of ${aims.length}`,
      first ? `${first.what}: ${first.measured} (aim ${first.aim})${more}` : '',
      aims[0]!.when,
    ];
  });

/** `sections`: the text of each, from its `## name: title`. Those without aims are left out. */
export function summaryOf(sections: readonly string[]): string {
  const all = sections.flatMap((section) => {
    const name = /^## ([^\n:]+)/.exec(section)?.[1] ?? '';
    const when = conditionsOf(section);
    return aimsOf(section).map((aim) => ({ ...aim, name, when }));
  });
  const reached = all.filter(({ isReached }) => isReached).length;
  const rows = all.map(({ name, what, measured, spread, against, aim, isReached, when }) => [
    name,
    what,
    measured,
    spread,
    against,
    aim,
    isReached ? 'yes' : '**no**',
    when,
  ]);
  return [
    '## Aims',
    '',
    `${reached} of ${all.length} are reached. A ratio has the figure that it is compared with beside it, ` +
      'from the same run.',
    'Below are each aim, and then the sections with all of their figures, which say how busy the machine was.',
    '',
    ...inRows(['section', 'reached', 'missed', 'when'], shortRows(all)),
    '',
    '### Each aim',
    '',
    ...inRows(HEAD, rows),
    '',
  ].join('\n');
}
