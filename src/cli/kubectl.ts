#!/usr/bin/env node
import { KUBECTL_PROGRAM } from './programs.ts';
import { start } from './run_program.ts';

await start(KUBECTL_PROGRAM, process.argv.slice(2));
