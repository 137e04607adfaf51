/** Who may say and hear what on NATS: the least that each role needs. */
import { STREAM, SUBJECT } from './messages.ts';

/** Every inbox begins so, and nothing else does. */
export const INBOXES = '_INBOX';

export const INBOX = {
  api: '_INBOX_api',
  controller: '_INBOX_controller',
  runner: (podUid: string) => `_INBOX_${podUid}`,
} as const;

/** Where controllers end the connection of a deleted pod: the account's way to the server's own KICK. */
export const KICK = (serverId: string): string => `py.kick.${serverId}`;
/** Where controllers make a server read its certificate anew: it does so at a signal or a request only. */
export const RELOAD = (serverId: string): string => `py.reload.${serverId}`;
export const AUTH_CALLOUT = '$SYS.REQ.USER.AUTH';
export const CALLOUT_QUEUE = 'callout';

export interface SubjectPermissions {
  publish: string[];
  subscribe: string[];
}

/** A pod's own subjects and its own inbox: another pod's are refused by the server. */
export function runnerPermissions(podUid: string): SubjectPermissions {
  return {
    publish: [SUBJECT.heartbeat(podUid), SUBJECT.result(podUid), `py.chunk.${podUid}.>`],
    subscribe: [SUBJECT.runner(podUid), 'py.run.all.>', `${INBOX.runner(podUid)}.>`],
  };
}

export const apiPermissions: SubjectPermissions = {
  publish: [SUBJECT.early],
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
  subscribe: [SUBJECT.early, SUBJECT.heartbeats, SUBJECT.closed, AUTH_CALLOUT, `${INBOX.controller}.>`],
};
