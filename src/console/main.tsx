/** The console: one page, drawn by what its address says. */
import { render } from 'preact';
import { App } from './app.tsx';
import { startRouter } from './router.ts';
import { readSession } from './session.ts';

startRouter();
void readSession();
render(<App />, document.querySelector('#app')!);
