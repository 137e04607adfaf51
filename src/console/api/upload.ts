/** A form with a file. `fetch` does not say how much of it has been sent; the older interface of browsers does. */
import { offline } from './failure.ts';

export interface Upload {
  file: File;
  /** Between 0 and 1. */
  progress: (share: number) => void;
}

/** The response as it is, of whatever status. Throws a Failure where there is none. */
export function sendFile(path: string, form: FormData, headers: Record<string, string>, { progress }: Upload) {
  return new Promise<Response>((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener('progress', ({ loaded, total }) => progress(total > 0 ? loaded / total : 0));
    request.addEventListener('error', () => reject(offline()));
    request.addEventListener('load', () => {
      const got = ['Retry-After', 'X-Request-Id'].flatMap((name) => {
        const value = request.getResponseHeader(name);
        return value === null ? [] : [[name, value] as [string, string]];
      });
      resolve(new Response(request.responseText, { status: request.status, headers: got }));
    });
    request.send(form);
  });
}
