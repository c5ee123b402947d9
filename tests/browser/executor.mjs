// An executor: an HTTP target that answers every run alike, or as it is told.

import { createServer } from "node:http";

/** @param {object|((run: object) => object)} answer */
export async function startExecutor(answer) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const said = typeof answer === "function" ? await answer(JSON.parse(body)) : answer;
    response.setHeader("content-type", "application/json").end(JSON.stringify(said));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/run`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
