//! Measures the queues' throughput: `cargo run --release --example throughput` sends, receives and
//! deletes messages one by one and in tens, without a transport and through the real client.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use belfry_sqs::{Sqs, serve};
use belfry_time::SystemTime;
use serde_json::{Value, json};
use tokio::net::TcpListener;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// About the size of a fire's message to a launcher.
const BODY_BYTES: usize = 500;
const MESSAGES: usize = 10_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let file = std::env::temp_dir().join(format!("belfry-throughput-{}.db", std::process::id()));
    println!("{MESSAGES} messages of {BODY_BYTES} bytes: sent, received and deleted per second");
    println!("in memory, one by one   {:>7.0}", by_hand(&Sqs::memory(SystemTime)?, 1).await?);
    println!("in memory, in tens      {:>7.0}", by_hand(&Sqs::memory(SystemTime)?, 10).await?);
    let sqs = Sqs::open(&file, SystemTime)?;
    println!("in a file, one by one   {:>7.0}", by_hand(&sqs, 1).await?);
    println!("in a file, in tens      {:>7.0}", by_hand(&sqs, 10).await?);
    println!("  with 100,000 waiting  {:>7.0}", behind_a_backlog(&sqs, 100_000).await?);
    println!("through the SDK, file   {:>7.0}", through_the_sdk(sqs).await?);
    remove(&file);
    Ok(())
}

async fn by_hand(sqs: &Sqs, batch: usize) -> Outcome<f64> {
    ask(sqs, "CreateQueue", json!({ "QueueName": "q" })).await?;
    let started = Instant::now();
    for _ in 0..MESSAGES / batch {
        send(sqs, batch).await?;
    }
    for _ in 0..MESSAGES / batch {
        take(sqs, batch).await?;
    }
    Ok(rate(started))
}

async fn behind_a_backlog(sqs: &Sqs, waiting: usize) -> Outcome<f64> {
    for _ in 0..waiting / 10 {
        send(sqs, 10).await?;
    }
    by_hand(sqs, 1).await
}

async fn through_the_sdk(sqs: Sqs) -> Outcome<f64> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = client(&format!("http://{}", listener.local_addr()?));
    // In a thread of its own, as in `belfry dev`.
    std::thread::spawn(move || -> std::io::Result<()> {
        let listener = listener.into_std()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            serve(TcpListener::from_std(listener)?, sqs, std::future::pending()).await
        })
    });
    let created = client.create_queue().queue_name("sdk").send().await?;
    let queue = created.queue_url().unwrap_or_default();
    let body = "x".repeat(BODY_BYTES);
    let started = Instant::now();
    for _ in 0..MESSAGES {
        client.send_message().queue_url(queue).message_body(&body).send().await?;
        let received = client.receive_message().queue_url(queue).send().await?;
        let handle = received.messages()[0].receipt_handle().unwrap_or_default();
        client.delete_message().queue_url(queue).receipt_handle(handle).send().await?;
    }
    Ok(rate(started))
}

fn client(endpoint: &str) -> Client {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::from_keys("test", "test", None))
        .http_client(aws_smithy_http_client::Builder::new().build_http());
    Client::from_conf(config.build())
}

async fn send(sqs: &Sqs, count: usize) -> Outcome<()> {
    let body = "x".repeat(BODY_BYTES);
    if count == 1 {
        ask(sqs, "SendMessage", json!({ "QueueUrl": "q", "MessageBody": body })).await?;
        return Ok(());
    }
    let entry = |id: usize| json!({ "Id": id.to_string(), "MessageBody": body });
    let entries: Vec<Value> = (0..count).map(entry).collect();
    ask(sqs, "SendMessageBatch", json!({ "QueueUrl": "q", "Entries": entries })).await?;
    Ok(())
}

async fn take(sqs: &Sqs, count: usize) -> Outcome<()> {
    let request = json!({ "QueueUrl": "q", "MaxNumberOfMessages": count });
    let received = ask(sqs, "ReceiveMessage", request).await?;
    let messages = received["Messages"].as_array().ok_or("nothing to receive")?;
    if let [one] = messages.as_slice() {
        let request = json!({ "QueueUrl": "q", "ReceiptHandle": one["ReceiptHandle"] });
        ask(sqs, "DeleteMessage", request).await?;
        return Ok(());
    }
    let entry = |(id, message): (usize, &Value)| json!({ "Id": id.to_string(), "ReceiptHandle": message["ReceiptHandle"] });
    let entries: Vec<Value> = messages.iter().enumerate().map(entry).collect();
    ask(sqs, "DeleteMessageBatch", json!({ "QueueUrl": "q", "Entries": entries })).await?;
    Ok(())
}

async fn ask(sqs: &Sqs, action: &str, request: Value) -> Outcome<Value> {
    let request = request.to_string();
    let reply = sqs.handle(action, request.as_bytes(), "http://localhost").await;
    if reply.status != 200 {
        return Err(String::from_utf8(reply.body)?.into());
    }
    Ok(serde_json::from_slice(&reply.body)?)
}

fn rate(started: Instant) -> f64 {
    MESSAGES as f64 / started.elapsed().as_secs_f64()
}

fn remove(file: &Path) {
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", file.display()));
    }
}
