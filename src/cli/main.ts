#!/usr/bin/env node
import { basename } from 'node:path';
import { start } from './run_program.ts';
import { PROGRAM } from './programs.ts';

/** Linked under the name of a tool, it takes that tool's own flags. */
const called = basename(process.argv[1] ?? '').replace(/\.[cm]?[jt]s$/, '');
const asTool = called === 'ffprobe' || called === 'mediainfo' ? [called] : [];

await start(PROGRAM, [...asTool, ...process.argv.slice(2)]);
