/** The endpoints that run one tool, in the order of the description. */
import { ENDPOINT_ROWS } from '../../../media/tools/table.ts';
import { singleTool } from './single.ts';

export const SINGLES = ENDPOINT_ROWS.map(singleTool);
