/** What an installation says of sources: private places that they may reach, and credentials for stores. */

/**
 * An exception to the rule that only public addresses are connected to, for the installation or for a token. If both a
 * host and a CIDR are given, both must match.
 */
export interface SourceException {
  cidr?: string;
  host?: string;
  port?: number;
}

/**
 * The controller's own identity in place of a Secret: a token service of the cloud exchanges the token of its service
 * account for access that lasts an hour.
 */
export interface WorkloadIdentity {
  /** Of s3: the role to take. */
  role?: string;
  /** Of gs: the provider of the pool that knows the cluster. */
  provider?: string;
  /** Of gs: on whose behalf; without it, the identity itself has the access. */
  serviceAccount?: string;
  /** Of az. */
  tenant?: string;
  client?: string;
  /** Of the token service, if it is not the cloud's usual one. */
  endpoint?: string;
}

/** What a credential is for: stores of S3, of Google Cloud (with HMAC keys), of Azure. */
export type StoreKind = 's3' | 'gs' | 'az';

export interface NamedCredential {
  name: string;
  kind: StoreKind;
  /** Ids of accounts (root users); `*`: all. */
  accounts: readonly (number | '*')[];
  /** Of az: `ACCOUNT/CONTAINER`. */
  buckets: readonly string[];
  /** Of s3, if it is not that of the installation. */
  region?: string;
  identity?: WorkloadIdentity;
  /** Content checks may keep pictures of what it reads. */
  pictures?: boolean;
  /** Batches may tag the objects that it reads: it must be able to write tags. */
  tags?: boolean;
}
