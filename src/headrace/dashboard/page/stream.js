// SPDX-License-Identifier: Apache-2.0
// The stream of documents from the application, however often it breaks.

const AGAIN_MS = 2000;
const QUIET_MS = 8000;

/**
 * Listens for as long as the page is open.
 * @param heard is called with each document.
 * @param changed is called with "live", "silent" (the application runs, but Spark does not answer) or "lost".
 */
export function listen(heard, changed) {
  let state = "waiting";
  let last = performance.now();
  const become = (next) => {
    last = performance.now();
    if (next !== state) changed((state = next));
  };
  const connect = () => {
    const source = new EventSource(`events${location.search}`);
    source.addEventListener("message", (event) => {
      let snapshot;
      try {
        snapshot = JSON.parse(event.data);
      } catch {
        // Half of a document, from an application that has just ended.
        return;
      }
      become("live");
      heard(snapshot);
    });
    source.addEventListener("silent", () => become("silent"));
    source.addEventListener("error", () => {
      become("lost");
      // A browser gives up for good when the answer is an error, such as that of another server on the same port.
      source.close();
      setTimeout(connect, AGAIN_MS);
    });
  };
  connect();
  setInterval(() => {
    if (state === "live" && performance.now() - last > QUIET_MS) become("silent");
  }, 1000);
}
