/** The options of `fetch`. The client gives those of uploads a function that is called with the part that was sent, from 0 to 1. */
export interface UploadInit extends RequestInit {
  onProgress?: ((part: number) => void) | undefined;
}

/** Returns the headers of a response, of which each is a line. */
const headersOf = (text: string): [string, string][] =>
  text
    .trim()
    .split(/[\r\n]+/)
    .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);

/** Sends a request as `fetch` does, and reports the progress of its body, which `fetch` does not. */
export const fetchWithProgress = (url: string, { method = "POST", headers, body, signal, onProgress }: UploadInit): Promise<Response> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const request = new XMLHttpRequest();
    request.open(method, url);
    new Headers(headers).forEach((value, name) => request.setRequestHeader(name, value));
    request.upload.onprogress = ({ loaded, total }) => onProgress?.(total ? loaded / total : 1);
    request.onload = () =>
      resolve(new Response(request.responseText || null, { status: request.status, headers: headersOf(request.getAllResponseHeaders()) }));
    request.onerror = () => reject(new TypeError("the upload was interrupted"));
    request.onabort = () => reject(signal?.reason);
    const abort = () => request.abort();
    signal?.addEventListener("abort", abort);
    request.onloadend = () => signal?.removeEventListener("abort", abort);
    // Another attempt begins anew.
    onProgress?.(0);
    request.send(body as XMLHttpRequestBodyInit);
  });
