// BullMQ: COUNT job schedulers that are due in the same second. Each fire is a job that calls URL,
// if given, and is kept as completed. The same protocol as the other children: answers on standard
// error.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Queue, Worker } from "bullmq";

const [count, dueMs, port] = process.argv.slice(2, 5).map(Number);
const url = process.argv[5];
const connection = { host: "127.0.0.1", port };
const answer = (value) => process.stderr.write(`answer: ${JSON.stringify(value)}\n`);
const manifest = createRequire(import.meta.url).resolve("bullmq/package.json");
const { version } = JSON.parse(readFileSync(manifest, "utf8"));

const due = new Date(dueMs);
const fields = [
  due.getUTCSeconds(),
  due.getUTCMinutes(),
  due.getUTCHours(),
  due.getUTCDate(),
  due.getUTCMonth() + 1,
];
const pattern = `${fields.join(" ")} *`;
const queue = new Queue("bench", { connection });
const template = { name: "fire", data: { report: "daily", region: "eu" } };
for (let first = 0; first < count; first += 200) {
  const some = Array.from({ length: Math.min(200, count - first) }, (_, place) =>
    queue.upsertJobScheduler(`schedule-${first + place}`, { pattern, tz: "UTC" }, template),
  );
  await Promise.all(some);
}

const late = [];
const runAt = due.toISOString();
async function fire(job) {
  late.push(Date.now() - dueMs);
  if (!url) return;
  const body = { payload: job.data, metadata: { run_id: `${job.repeatJobKey}@${runAt}` } };
  const headers = { "content-type": "application/json", "idempotency-key": job.id };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  await answer.json();
}
let recorded = 0;
const worker = new Worker("bench", fire, { connection, concurrency: 64 });
worker.on("error", (problem) => process.stderr.write(`${problem}\n`));
worker.on("completed", () => {
  recorded += 1;
  if (recorded === count) {
    const seconds = (Date.now() - dueMs) / 1000;
    late.sort((a, b) => a - b);
    const rank = (percent) => late[Math.ceil((count * percent) / 100) - 1];
    answer({ seconds, p50: rank(50), p99: rank(99), max: rank(100) });
  }
});
await worker.waitUntilReady();
answer({ version, spare_ms: dueMs - Date.now() });
