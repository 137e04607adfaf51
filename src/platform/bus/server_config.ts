/**
 * The NATS server's configuration for Probeyard: accounts, static users with their permissions, and the auth callout
 * for runners.
 */
import { type SubjectPermissions, apiPermissions, controllerPermissions } from './permissions.ts';

export interface ServerKeys {
  /** Public nkeys. */
  api: string;
  controller: string;
  issuer: string;
  /** Name of the account, which the callout's answers refer to. */
  account?: string;
}

const list = (subjects: string[]) => `[${subjects.map((subject) => JSON.stringify(subject)).join(', ')}]`;

// Controllers respond to heartbeats and authentication requests on the requested reply subject: once per request, and
// within this time.
const RESPONSES = '\n          allow_responses: { max: 1, expires: "30s" }';
const user = (nkey: string, { publish, subscribe }: SubjectPermissions, responses: boolean) => `      {
        nkey: ${JSON.stringify(nkey)}
        permissions {
          publish: { allow: ${list(publish)} }
          subscribe: { allow: ${list(subscribe)} }${responses ? RESPONSES : ''}
        }
      }`;

const ACCOUNT = 'PROBEYARD';
const MOST_SUBSCRIPTIONS = 100;

const users = ({ api, controller }: Pick<ServerKeys, 'api' | 'controller'>) => `    users: [
${user(api, apiPermissions, false)}
${user(controller, controllerPermissions, true)}
    ]`;

/** A part of nats.conf (`include auth.conf`), without ports, TLS and storage. */
export function natsServerConfig({ api, controller, issuer, account = ACCOUNT }: ServerKeys): string {
  return `# A result travels in messages of at most 0.7 MB.
max_payload: 1MB
# Of one connection: a controller has about ten. The server does not apply limits of users that a callout makes.
max_subscriptions: ${MOST_SUBSCRIPTIONS}
accounts {
  ${account} {
    jetstream: enabled
${users({ api, controller })}
    imports: [
      { service: { account: SYS, subject: "$SYS.REQ.SERVER.*.KICK" }, to: "py.kick.*" }
      { service: { account: SYS, subject: "$SYS.REQ.SERVER.*.RELOAD" }, to: "py.reload.*" }
    ]
  }
  SYS {
    exports: [
      { service: "$SYS.REQ.SERVER.*.KICK", accounts: [${account}] }
      { service: "$SYS.REQ.SERVER.*.RELOAD", accounts: [${account}] }
    ]
  }
}
system_account: SYS
authorization {
  # A runner that comes while no controller is connected waits for so long before it may try again.
  timeout: 2
  # Everybody else (the runners, with a token of their pod) is asked for at the controllers.
  auth_callout {
    issuer: ${JSON.stringify(issuer)}
    auth_users: [${JSON.stringify(api)}, ${JSON.stringify(controller)}]
    account: ${account}
  }
}
`;
}

/**
 * The same for servers that serve other accounts, too: the account is included in their `accounts`, the callout in
 * their `authorization`. Users of other accounts sign in as before: `allowed_accounts` leaves them out of the callout.
 */
export function natsAccountConfig({ api, controller, issuer, account = ACCOUNT }: ServerKeys): {
  account: string;
  callout: string;
} {
  return {
    account: `${account} {
    # Over all servers: two streams of 768 MiB together, in three copies.
    jetstream: { max_file: 3GB, max_memory: 64MB, max_streams: 2 }
${users({ api, controller })}
}
`,
    callout: `timeout: 2
auth_callout {
  issuer: ${JSON.stringify(issuer)}
  auth_users: [${JSON.stringify(api)}, ${JSON.stringify(controller)}]
  account: ${account}
  allowed_accounts: [${account}]
}
`,
  };
}
