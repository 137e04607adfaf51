/** A rollout of the whole release. */
import { PODS } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { NAMESPACE, RUNNERS, eventually, type Cluster } from '../cluster/fixture.ts';

/** Two of each: API, controllers and runners. */
const LEAST_PODS = 6;

/** Waits until API, controllers and runners run this image, and no pod of another is left. */
export async function rolledOut(c: Cluster, image: RegExp): Promise<void> {
  await eventually(`every pod runs ${image.source}`, 150, async () => {
    const found = await Promise.all([
      c.kube.listAll(PODS, { namespace: NAMESPACE, labelSelector: `${LABEL.component} in (api,controller)` }),
      c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.component}=runner` }),
    ]);
    const pods = found.flatMap(({ items }) => items).filter(({ status }) => status?.phase === 'Running');
    return (
      pods.length >= LEAST_PODS &&
      pods.every(({ spec }) => (spec?.containers ?? []).some((container) => image.test(container.image ?? '')))
    );
  });
}
