//! A child process that executes commands given as lines of JSON, and answers each with a line.
//!
//! Answers are on standard error, because functions log to standard output.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStderr, ChildStdin, Command};

use crate::machine;

/// The longest a child may take for one command.
const PATIENCE: Duration = Duration::from_secs(400);
/// The prefix that tells an answer from other output.
const MARK: &str = "answer: ";

/// A child process that is killed when this is dropped.
pub struct Child {
    process: tokio::process::Child,
    orders: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStderr>>,
    /// Its first answer, given when it was ready.
    pub hello: Value,
}

impl Child {
    /// Starts `command` and waits until it is ready.
    pub async fn start(mut command: Command) -> Child {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.kill_on_drop(true).spawn().expect("a process");
        let orders = process.stdin.take();
        let answers = BufReader::new(process.stderr.take().expect("its answers")).lines();
        let mut child = Child { process, orders, answers, hello: Value::Null };
        child.hello = child.answer().await;
        child
    }

    /// Starts this program with `arguments`.
    pub async fn of_ours(arguments: &[&str], environment: &[(String, String)]) -> Child {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value)));
        Child::start(command).await
    }

    /// Sends a command and waits for its answer.
    pub async fn ask(&mut self, order: Value) -> Value {
        let line = format!("{order}\n");
        let orders = self.orders.as_mut().expect("a child that listens");
        orders.write_all(line.as_bytes()).await.expect("a child that listens");
        self.answer().await
    }

    /// The next answer.
    pub async fn answer(&mut self) -> Value {
        loop {
            let line = tokio::time::timeout(PATIENCE, self.answers.next_line()).await;
            let line = line.expect("an answer in time").expect("a line");
            let line = line.expect("a running child");
            match line.strip_prefix(MARK) {
                Some(answer) => return serde_json::from_str(answer).expect("an answer in JSON"),
                None => println!("  {line}"),
            }
        }
    }

    /// The child's process id.
    pub fn pid(&self) -> u32 {
        self.process.id().unwrap_or(0)
    }

    /// The CPU time it has used so far.
    pub fn cpu(&self) -> Duration {
        machine::cpu(self.pid())
    }

    /// Its peak memory, in MiB.
    pub fn peak_memory(&self) -> f64 {
        machine::peak_memory(self.pid())
    }

    /// Waits for it to end by itself. Returns the rest of its output.
    pub async fn end(mut self) -> Vec<String> {
        drop(self.orders.take());
        let mut rest = Vec::new();
        while let Ok(Ok(Some(line))) =
            tokio::time::timeout(PATIENCE, self.answers.next_line()).await
        {
            rest.push(line);
        }
        let _ = tokio::time::timeout(PATIENCE, self.process.wait()).await;
        rest
    }
}

/// Sends an answer from within a child.
#[expect(clippy::print_stderr, reason = "functions log to standard output")]
pub fn answer(value: &Value) {
    eprintln!("{MARK}{value}");
}

/// Reads a child's commands, line by line.
pub async fn orders(mut obey: impl AsyncFnMut(Value) -> Value) {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let order: Value = serde_json::from_str(&line).unwrap_or(json!({}));
        answer(&obey(order).await);
    }
}
