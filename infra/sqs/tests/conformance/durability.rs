//! Durability: acknowledged messages survive the death of the process. For our own store only.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use aws_sdk_sqs::Client;
use belfry_sqs::{OpenError, Sqs, serve};
use belfry_time::{ManualTime, SystemTime};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::bench::{client, fresh_name};

/// A file of its own, removed with its logs at the end.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("belfry-sqs-{}.db", fresh_name())))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", self.0.display()));
        }
    }
}

fn open(path: &Path) -> Sqs {
    Sqs::open(path, ManualTime::at("2026-01-01T12:00:00Z".parse().unwrap())).unwrap()
}

async fn ask(sqs: &Sqs, action: &str, request: Value) -> Value {
    let reply = sqs.handle(action, request.to_string().as_bytes(), "http://localhost").await;
    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
    serde_json::from_slice(&reply.body).unwrap()
}

#[tokio::test]
async fn messages_and_queues_are_there_after_an_end_without_goodbye() {
    let place = Place::new();
    let before = open(&place.0);
    let attributes = json!({ "VisibilityTimeout": "77" });
    ask(&before, "CreateQueue", json!({ "QueueName": "q", "Attributes": attributes })).await;
    for body in ["deleted", "held", "waiting"] {
        ask(&before, "SendMessage", json!({ "QueueUrl": "q", "MessageBody": body })).await;
    }
    let two = json!({ "QueueUrl": "q", "MaxNumberOfMessages": 2 });
    let received = ask(&before, "ReceiveMessage", two).await;
    let handle = &received["Messages"][0]["ReceiptHandle"];
    ask(&before, "DeleteMessage", json!({ "QueueUrl": "q", "ReceiptHandle": handle })).await;
    std::mem::forget(before);

    let after = open(&place.0);
    let all = json!({ "QueueUrl": "q", "AttributeNames": ["All"] });
    let attributes = &ask(&after, "GetQueueAttributes", all).await["Attributes"];
    assert_eq!(attributes["VisibilityTimeout"], "77");
    assert_eq!(attributes["ApproximateNumberOfMessages"], "1");
    assert_eq!(attributes["ApproximateNumberOfMessagesNotVisible"], "1");

    // A receipt issued before the restart is still valid.
    let handle = &received["Messages"][1]["ReceiptHandle"];
    ask(&after, "DeleteMessage", json!({ "QueueUrl": "q", "ReceiptHandle": handle })).await;
    let ten = json!({ "QueueUrl": "q", "MaxNumberOfMessages": 10 });
    let left = ask(&after, "ReceiveMessage", ten).await;
    assert_eq!(left["Messages"].as_array().unwrap().len(), 1);
    assert_eq!(left["Messages"][0]["Body"], "waiting");
}

#[test]
fn a_file_of_a_later_format_is_refused() {
    let place = Place::new();
    drop(open(&place.0));
    let connection = rusqlite::Connection::open(&place.0).unwrap();
    connection.pragma_update(None, "user_version", 1_000).unwrap();
    let error = Sqs::open(&place.0, SystemTime).unwrap_err();
    assert!(matches!(error, OpenError::LaterFormat(1_000)), "{error:?}");
}

#[test]
fn a_place_that_cannot_be_written_is_an_error() {
    let nowhere = Path::new("/nowhere/at/all/queues.db");
    assert!(matches!(Sqs::open(nowhere, SystemTime), Err(OpenError::Sqlite(_))));
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_to_a_kill() {
    let place = Place::new();
    let (mut server, endpoint) = spawn_server(&place.0);
    let client = client(&endpoint);
    let made = client.create_queue().queue_name("q").send().await.unwrap();
    let queue = made.queue_url.unwrap();
    let (count, mut acknowledged) = watch::channel(0);
    let sender = tokio::spawn(send_until_it_fails(client, queue, count));
    // The sends go on, and the kill comes at an arbitrary moment among them.
    acknowledged.wait_for(|count| *count >= 300).await.unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let sent = sender.await.unwrap();

    let (mut server, endpoint) = spawn_server(&place.0);
    let there = receive_all(&crate::bench::client(&endpoint)).await;
    server.kill().unwrap();
    server.wait().unwrap();
    let lost: Vec<&String> = sent.difference(&there).collect();
    assert!(lost.is_empty(), "{} of {} lost", lost.len(), sent.len());
    // At most the one send in progress was stored without its acknowledgement arriving.
    assert!(there.len() <= sent.len() + 1, "{} there, {} sent", there.len(), sent.len());
}

/// The ids of the messages that were acknowledged.
async fn send_until_it_fails(
    client: Client,
    queue: String,
    count: watch::Sender<usize>,
) -> HashSet<String> {
    let mut sent = HashSet::new();
    while let Ok(one) = client.send_message().queue_url(&queue).message_body("x").send().await {
        sent.insert(one.message_id.unwrap());
        count.send_replace(sent.len());
    }
    sent
}

async fn receive_all(client: &Client) -> HashSet<String> {
    let found = client.get_queue_url().queue_name("q").send().await.unwrap();
    let queue = found.queue_url.unwrap();
    let mut there = HashSet::new();
    loop {
        let request = client.receive_message().queue_url(&queue).max_number_of_messages(10);
        let messages = request.visibility_timeout(3600).send().await.unwrap();
        if messages.messages().is_empty() {
            return there;
        }
        there.extend(messages.messages.into_iter().flatten().filter_map(|it| it.message_id));
    }
}

/// Starts this program again as a server, so that no other binary must be built first.
fn spawn_server(path: &Path) -> (Child, String) {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "durability::serves_until_killed", "--nocapture"])
        .env(SERVE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let endpoint = lines.map_while(Result::ok).find_map(|line| {
        line.split_whitespace().find(|word| word.starts_with("http://")).map(str::to_owned)
    });
    (server, endpoint.expect("a server that prints its URL"))
}

const SERVE: &str = "BELFRY_SQS_TEST_FILE";

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the parent process passes the file this way")]
/// The server for the test above; without the variable it does nothing.
async fn serves_until_killed() {
    let Ok(path) = std::env::var(SERVE) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    let sqs = Sqs::open(Path::new(&path), SystemTime).unwrap();
    serve(listener, sqs, std::future::pending()).await.unwrap();
}
