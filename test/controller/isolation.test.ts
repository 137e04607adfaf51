import assert from 'node:assert/strict';
import {
  isWithoutUserNamespaces,
  lackedWalls,
  saidWithoutUserNamespaces,
  wallConditions,
} from '../../src/service/controller/pools/isolation.ts';

const spec = (...require: ('UserNamespace' | 'SyscallFilter' | 'NetworkEnforced')[]) => ({
  serves: { kinds: ['file' as const] },
  minReady: 1,
  maxPods: 2,
  isolation: { require },
});

describe('isolation of a pool', () => {
  it('a wall that no runner reports is Unknown', () => {
    assert.deepEqual(
      wallConditions([]).map(({ type, status }) => `${type} ${status}`),
      ['UserNamespace Unknown', 'SyscallFilter Unknown', 'NetworkEnforced Unknown'],
    );
    assert.deepEqual(
      wallConditions([undefined, {}]).map(({ status }) => status),
      ['Unknown', 'Unknown', 'Unknown'],
    );
  });
  it('a wall is True if every runner reports it, False if one runner lacks it', () => {
    const shown = wallConditions([
      { UserNamespace: true, SyscallFilter: true },
      { UserNamespace: true, SyscallFilter: false },
    ]);
    assert.deepEqual(
      shown.map(({ status }) => status),
      ['True', 'False', 'Unknown'],
    );
    assert.match(shown[1]?.message ?? '', /^1 of 2 runners cannot filter/);
  });

  it('a runner lacks a required wall that it reports as down or not at all', () => {
    assert.deepEqual(
      lackedWalls(spec('UserNamespace', 'SyscallFilter', 'NetworkEnforced'), {
        UserNamespace: true,
        SyscallFilter: false,
      }),
      ['SyscallFilter', 'NetworkEnforced'],
    );
    assert.deepEqual(lackedWalls(spec('UserNamespace'), undefined), ['UserNamespace']);
    assert.deepEqual(lackedWalls(spec(), undefined), []);
  });

  for (const [message, expected] of [
    ['Failed to create pod sandbox: RuntimeClass handler "" does not support user namespaces', true],
    [
      'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to set ' +
        'MOUNT_ATTR_IDMAP on /var/lib/kubelet/pods/x: invalid argument (maybe the ' +
        "filesystem used doesn't support idmap mounts on this kernel?)",
      true,
    ],
    ['Failed to create pod sandbox: plugin type="bridge" failed (add): no IP addresses available', false],
    ['Back-off pulling image "registry.example/probeyard:1"', false],
    ['Failed to pull image "registry.example/user-names/probeyard:1": i/o timeout', false],
    [undefined, false],
  ] as const) {
    it(`${expected ? 'recognises' : 'ignores'} a node without user namespaces: ${message?.slice(0, 90)}`, () =>
      assert.equal(isWithoutUserNamespaces(message), expected));
  }

  const idmap = "failed to set MOUNT_ATTR_IDMAP on /var/lib/kubelet/pods/x: the kernel doesn't support idmap mounts";
  for (const [what, state, expected] of [
    ['a container that waits', { waiting: { reason: 'CreateContainerError', message: idmap } }, idmap],
    ['one that could not be started', { terminated: { reason: 'StartError', exitCode: 128, message: idmap } }, idmap],
    ['the last words of one that ran', { terminated: { reason: 'Error', exitCode: 1, message: idmap } }, undefined],
    ['one that runs', { running: {} }, undefined],
  ] as const)
    it(`reads ${expected === undefined ? 'nothing of' : 'it of'} ${what}`, () => {
      const containerStatuses = [{ state: { running: {} } }, { state }] as never;
      assert.equal(saidWithoutUserNamespaces({ status: { containerStatuses } }), expected);
    });
});
