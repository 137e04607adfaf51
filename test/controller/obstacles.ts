/** Obstacles between the controller and its servers, at a moment that the test chooses. */
import type { Bus } from '../../src/platform/bus/connect.ts';
import type { KubeClient } from '../../src/platform/kube/client.ts';

interface Patch {
  conditions?: { type: string; reason: string; status: string }[];
  attempts?: number;
}

export const isAdmission = (status: object): boolean =>
  (status as Patch).conditions?.some(({ type, status: value }) => type === 'Admitted' && value === 'True') === true &&
  !isEnd(status);
export const isEnd = (status: object): boolean =>
  (status as Patch).conditions?.some(({ type, status: value }) => type === 'Succeeded' && value !== 'Unknown') ?? false;

export interface Gate {
  kube: KubeClient;
  /** Status writes that reached the gate. */ arrived: { name: string; status: object }[];
  open(): void;
}

/** Holds the jobs that a leader creates: `before` they are sent, or `after` the response has come. */
export function gateAtCreate(kube: KubeClient, where: 'before' | 'after'): Gate {
  const opened = Promise.withResolvers<void>();
  const arrived: Gate['arrived'] = [];
  const create: KubeClient['create'] = async (type, object, options) => {
    if (type.kind !== 'ProbeJob') return kube.create(type, object, options);
    const call = { name: object.metadata.name, status: object.status as object };
    if (where === 'before') {
      arrived.push(call);
      await opened.promise;
      return kube.create(type, object, options);
    }
    const made = await kube.create(type, object, options);
    arrived.push(call);
    await opened.promise;
    return made;
  };
  return { kube: { ...kube, create }, arrived, open: opened.resolve };
}

/** Holds matching status writes: `before` they are sent, or `after` the response has come. */
export function gateAt(
  kube: KubeClient,
  matches: (status: object, name: string) => boolean,
  where: 'before' | 'after',
): Gate {
  const opened = Promise.withResolvers<void>();
  const arrived: Gate['arrived'] = [];
  const mergePatchStatus: KubeClient['mergePatchStatus'] = async (type, name, status, options) => {
    if (!matches(status, name)) return kube.mergePatchStatus(type, name, status, options);
    const send = () => kube.mergePatchStatus(type, name, status, options);
    if (where === 'before') {
      arrived.push({ name, status });
      await opened.promise;
      return send();
    }
    const answer = await send();
    arrived.push({ name, status });
    await opened.promise;
    return answer;
  };
  return { kube: { ...kube, mergePatchStatus }, arrived, open: opened.resolve };
}

/** A bus that drops the messages of one subject. */
export function losing(bus: Bus, subject: string): { bus: Bus; lost: unknown[] } {
  const lost: unknown[] = [];
  return {
    lost,
    bus: {
      ...bus,
      publish(to, message) {
        if (to === subject) lost.push(message);
        else bus.publish(to, message);
      },
    },
  };
}
