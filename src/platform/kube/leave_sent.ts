/**
 * A call with a body is not taken back once it has an HTTP/2 stream: its caller gets the error, and the answer is
 * discarded. undici 8.12 resets the stream without a code and destroys it. If the body is not written yet, because the
 * server reads slowly, Node 24.21 then writes empty DATA frames for that stream without end: the event loop stands
 * still, and memory grows until the process is killed.
 */
import type { Dispatcher } from 'undici';

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;

export const leaveSent: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) =>
  dispatch(options, options.body === null || options.body === undefined ? handler : leaving(handler));

function leaving(handler: Handler): Handler {
  let hasStream = false;
  let left: Error | undefined;
  /** What the caller holds in place of the controller. */
  let held: Controller | undefined;

  function heldFor(controller: Controller): Controller {
    return {
      get aborted() {
        return left !== undefined || controller.aborted;
      },
      get paused() {
        return controller.paused;
      },
      get reason() {
        return left ?? controller.reason;
      },
      get rawHeaders() {
        return controller.rawHeaders ?? null;
      },
      get rawTrailers() {
        return controller.rawTrailers ?? null;
      },
      pause: () => controller.pause(),
      resume: () => controller.resume(),
      abort(reason) {
        if (!hasStream) return controller.abort(reason);
        if (left !== undefined) return;
        left = reason;
        controller.resume();
        handler.onResponseError?.(this, reason);
      },
    };
  }

  return {
    // Also called when a connection refused the call, and it is sent on another one.
    onRequestStart(controller, context) {
      if (left !== undefined) return controller.abort(left);
      hasStream = false;
      held = heldFor(controller);
      handler.onRequestStart?.(held, context);
      hasStream = true;
    },
    onResponseStart(controller, statusCode, headers, statusMessage) {
      if (left === undefined) handler.onResponseStart?.(held ?? controller, statusCode, headers, statusMessage);
    },
    onResponseData(controller, chunk) {
      if (left === undefined) handler.onResponseData?.(held ?? controller, chunk);
    },
    onResponseEnd(controller, trailers) {
      if (left === undefined) handler.onResponseEnd?.(held ?? controller, trailers);
    },
    onResponseError(controller, error) {
      if (left === undefined) handler.onResponseError?.(held ?? controller, error);
    },
  };
}
