/** The agent as a program: what the image runs, bundled into one file by images/agent_bundle.ts. */
import { startRole } from '../../base/start_role.ts';
import { run } from './main.ts';

void startRole('agent', run);
