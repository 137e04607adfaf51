/** The row of `doctor`, which both programs have. */
import type { Command } from '../command.ts';
import { PLACE } from '../kubectl/options.ts';

export const DOCTOR: Command = {
  name: 'doctor',
  summary: 'Check a cluster: walls, network, DNS, clock, storage, and the values that fit it',
  description: [
    'Starts short pods with the rights of kubectl, and deletes them: one as API and controllers are, one with the ' +
      'labels of a runner, and one each with a user namespace, an image volume and a claim of 1 GiB.',
    'With --install-check it needs no installation: the pods run in a namespace of their own, which is deleted ' +
      'afterwards.',
    'The exit code is 1 where a check failed, and 3 where a pod did not start and so nothing is known.',
  ],
  options: [
    { name: 'install-check', help: 'check a cluster before the installation' },
    { name: 'image', value: 'IMAGE', help: 'image of Probeyard; default: that of the installation' },
    { name: 'storage-class', value: 'NAME', help: "storage class to measure; default: the cluster's" },
    { name: 'runtime-class', value: 'NAME', help: 'RuntimeClass of the runners, if they have one' },
    { name: 'skip', value: 'POD', many: true, help: 'leave out a pod: storage, image-volume, user-namespace …' },
    { name: 'timeout', value: 'SECONDS', help: 'how long pods may take; default: 120' },
    { name: 'manifest', help: 'print what --install-check creates, for kubectl apply, and end' },
    ...PLACE,
  ],
  formats: ['table', 'json', 'yaml'],
  examples: [
    { does: 'an installation', line: 'probeyard doctor' },
    {
      does: 'a cluster before the installation',
      line: 'probeyard doctor --install-check --image registry.example.com/media/probeyard/probeyard:0.2.0',
    },
  ],
  run: async () => (await import('./doctor.ts')).default,
};
