/** NATS permissions: the least that each role needs. */
import { STREAM, SUBJECT } from './messages.ts';

/** Prefix of all inboxes, and of nothing else. */
export const INBOXES = '_INBOX';

export const INBOX = {
  api: '_INBOX_api',
  controller: '_INBOX_controller',
  runner: (id: string) => `_INBOX_${id}`,
} as const;

/** Subject on which controllers close the connection of a deleted pod, mapped to the server's own KICK. */
export const KICK = (serverId: string): string => `py.kick.${serverId}`;
/** Subject on which controllers make a server reload its certificate; it does so only on a signal or a request. */
export const RELOAD = (serverId: string): string => `py.reload.${serverId}`;
export const AUTH_CALLOUT = '$SYS.REQ.USER.AUTH';
export const CALLOUT_QUEUE = 'callout';

export interface SubjectPermissions {
  publish: string[];
  subscribe: string[];
}

/** The runner's own subjects and inbox. The server refuses those of other pods, and of other lives of its pod. */
export function runnerPermissions(id: string): SubjectPermissions {
  return {
    publish: [SUBJECT.heartbeat(id), SUBJECT.offer(id), SUBJECT.result(id), `py.chunk.${id}.>`],
    subscribe: [SUBJECT.runner(id), 'py.run.all.>', `${INBOX.runner(id)}.>`],
  };
}

export const apiPermissions: SubjectPermissions = {
  publish: [SUBJECT.create, SUBJECT.cancelItem, SUBJECT.cluster],
  subscribe: [SUBJECT.ended('*'), `${INBOX.api}.>`],
};

const streams = [STREAM.results, STREAM.chunks];
export const controllerPermissions: SubjectPermissions = {
  publish: [
    'py.run.>',
    SUBJECT.ended('*'),
    SUBJECT.closed,
    KICK('*'),
    RELOAD('*'),
    '$JS.API.INFO',
    ...streams.flatMap((name) => ['CREATE', 'UPDATE', 'INFO', 'PURGE'].map((verb) => `$JS.API.STREAM.${verb}.${name}`)),
    `$JS.API.CONSUMER.CREATE.${STREAM.results}.>`,
    `$JS.API.CONSUMER.DURABLE.CREATE.${STREAM.results}.>`,
    `$JS.API.CONSUMER.INFO.${STREAM.results}.>`,
    `$JS.API.CONSUMER.MSG.NEXT.${STREAM.results}.>`,
    `$JS.API.DIRECT.GET.${STREAM.chunks}.>`,
    `$JS.API.DIRECT.GET.${STREAM.chunks}`,
    `$JS.ACK.${STREAM.results}.>`,
  ],
  subscribe: [
    SUBJECT.create,
    SUBJECT.cancelItem,
    SUBJECT.heartbeats,
    SUBJECT.offers,
    SUBJECT.closed,
    SUBJECT.cluster,
    AUTH_CALLOUT,
    `${INBOX.controller}.>`,
  ],
};
