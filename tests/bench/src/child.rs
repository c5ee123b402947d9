//! A child: a process of ours that does what a line of JSON says, and answers with a line.
//!
//! Answers come on its standard error: standard output is where functions log.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStderr, ChildStdin, Command};

use crate::machine;

/// The longest a child may take for one thing.
const PATIENCE: Duration = Duration::from_secs(400);
/// What tells an answer from what else a process says there.
const MARK: &str = "answer: ";

/// A process that is killed when this is dropped.
pub struct Child {
    process: tokio::process::Child,
    orders: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStderr>>,
    /// What it said when it was ready.
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

    /// Starts this very program with `arguments`.
    pub async fn of_ours(arguments: &[&str], environment: &[(String, String)]) -> Child {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value)));
        Child::start(command).await
    }

    /// Tells it to do something and waits for its answer.
    pub async fn ask(&mut self, order: Value) -> Value {
        let line = format!("{order}\n");
        let orders = self.orders.as_mut().expect("a child that listens");
        orders.write_all(line.as_bytes()).await.expect("a child that listens");
        self.answer().await
    }

    /// What it says next.
    pub async fn answer(&mut self) -> Value {
        loop {
            let line = tokio::time::timeout(PATIENCE, self.answers.next_line()).await;
            let line = line.expect("an answer in time").expect("a line");
            let line = line.expect("a child that lives");
            match line.strip_prefix(MARK) {
                Some(answer) => return serde_json::from_str(answer).expect("an answer in JSON"),
                None => println!("  {line}"),
            }
        }
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.process.id().unwrap_or(0)
    }

    /// What it has used of a core so far.
    pub fn cpu(&self) -> Duration {
        machine::cpu(self.pid())
    }

    /// The most memory it ever had, in MiB.
    pub fn peak_memory(&self) -> f64 {
        machine::peak_memory(self.pid())
    }

    /// Lets it come to its own end. Answers with the rest of what it said.
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

/// Answers from within a child.
#[expect(clippy::print_stderr, reason = "standard output is where functions log")]
pub fn answer(value: &Value) {
    eprintln!("{MARK}{value}");
}

/// Reads what a child is told, line by line.
pub async fn orders(mut obey: impl AsyncFnMut(Value) -> Value) {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let order: Value = serde_json::from_str(&line).unwrap_or(json!({}));
        answer(&obey(order).await);
    }
}
