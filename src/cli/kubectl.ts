#!/usr/bin/env node
import { KUBECTL_PROGRAM } from './programs.ts';
import { start } from './run.ts';

await start(KUBECTL_PROGRAM, process.argv.slice(2));
