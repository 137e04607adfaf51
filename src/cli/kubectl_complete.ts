#!/usr/bin/env node
/** kubectl runs this program to complete `kubectl probeyard`, and reads its lines and directive as those of cobra. */
import { offered } from './completion/offered.ts';
import { KUBECTL_PROGRAM } from './programs.ts';

const NO_FILES = 4;

const lines = offered(KUBECTL_PROGRAM, process.argv.slice(2)).map(({ word, help }) =>
  help === '' ? word : `${word}\t${help}`,
);
process.stdout.write([...lines, `:${NO_FILES}`, ''].join('\n'));
