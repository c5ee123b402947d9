// A running `belfry dev`, in memory and on free ports, and its API.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const BINARY = new URL("../../target/debug/belfry", import.meta.url).pathname;

/** Tells a story against a system of its own, and stops it whatever happens. */
export async function withSystem(story) {
  const system = await startSystem();
  try {
    await story(system);
  } finally {
    await system.stop();
  }
}

/** @returns {Promise<{origin: string, console: string, call: Function, stop: () => Promise<void>}>} */
export async function startSystem() {
  const process = spawn(
    BINARY,
    ["dev", "--memory", "--port", "0", "--tick-ms", "1000", "--log", "error"],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const ended = new Promise((resolve) => process.once("exit", resolve));
  const lines = [];
  for await (const line of createInterface({ input: process.stdout })) {
    lines.push(line);
    if (line.startsWith("Press Ctrl-C")) break;
  }
  const said = (word) =>
    lines
      .find((line) => line.trim().startsWith(word))
      ?.trim()
      .split(/\s+/)[1];
  const api = said("API");
  if (!api) throw new Error(`belfry did not start: ${lines.join("\n")}`);
  const { origin } = new URL(api);
  const token = said("token") ?? /#token=(\S+)/.exec(lines.join("\n"))?.[1];
  async function call(method, path, body) {
    const answer = await fetch(`${api}${path}`, {
      method,
      body: body && JSON.stringify(body),
      headers: {
        "content-type": "application/json",
        ...(token && { authorization: `Bearer ${token}` }),
      },
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }
  return {
    origin,
    token,
    call,
    console: `${origin}/console${token ? `#token=${token}` : ""}`,
    stop: async () => {
      process.kill("SIGINT");
      await ended;
    },
  };
}
