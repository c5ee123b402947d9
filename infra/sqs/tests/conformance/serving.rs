//! The server around the queues: how it shuts down, and how it handles oversized calls.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::SdkError;
use aws_sdk_sqs::operation::receive_message::{ReceiveMessageError, ReceiveMessageOutput};
use belfry_sqs::{Sqs, serve};
use belfry_time::ManualTime;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::bench::{client, code};

struct Server {
    endpoint: String,
    clock: ManualTime,
    stop: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<std::io::Result<()>>,
}

type Poll = tokio::task::JoinHandle<Result<ReceiveMessageOutput, SdkError<ReceiveMessageError>>>;

async fn start() -> Server {
    let clock = ManualTime::at("2026-01-01T12:00:00Z".parse().unwrap());
    let sqs = Sqs::memory(clock.clone()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel();
    let shutdown = async { stopped.await.unwrap_or_default() };
    Server { endpoint, clock, stop, ended: tokio::spawn(serve(listener, sqs, shutdown)) }
}

/// The URL of a new queue, and a poll that waits for its first message.
async fn polling(server: &Server, client: &Client) -> (String, Poll) {
    let queue = client.create_queue().queue_name("q").send().await.unwrap().queue_url.unwrap();
    let poll = client.receive_message().queue_url(&queue).wait_time_seconds(20).send();
    let poll = tokio::spawn(poll);
    server.clock.until_sleeping(1).await;
    (queue, poll)
}

#[tokio::test]
async fn a_server_told_to_stop_lets_its_polls_go_and_ends() {
    let server = start().await;
    let client = client(&server.endpoint);
    let (_, poll) = polling(&server, &client).await;
    server.stop.send(()).unwrap();
    assert!(poll.await.unwrap().unwrap().messages().is_empty());
    server.ended.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_poll_nobody_waits_for_any_more_takes_no_message() {
    let server = start().await;
    let client = client(&server.endpoint);
    let (queue, poll) = polling(&server, &client).await;
    poll.abort();
    assert!(poll.await.unwrap_err().is_cancelled());
    // The server notices that its caller hung up, and stops waiting on its behalf.
    while server.clock.next_wake().is_some() {
        tokio::task::yield_now().await;
    }
    client.send_message().queue_url(&queue).message_body("x").send().await.unwrap();
    let received = client.receive_message().queue_url(&queue).send().await.unwrap();
    assert_eq!(received.messages().len(), 1);
}

#[tokio::test]
async fn queue_urls_begin_where_the_caller_reached_us() {
    let server = start().await;
    let elsewhere = server.endpoint.replace("127.0.0.1", "localhost");
    for endpoint in [server.endpoint, elsewhere] {
        let made = client(&endpoint).create_queue().queue_name("q").send().await.unwrap();
        assert_eq!(made.queue_url(), Some(format!("{endpoint}/000000000000/q").as_str()));
    }
}

#[tokio::test]
async fn a_request_of_twelve_mebibytes_is_answered_in_the_words_of_aws() {
    let server = start().await;
    let client = client(&server.endpoint);
    let queue = client.create_queue().queue_name("q").send().await.unwrap().queue_url.unwrap();
    let request = client.send_message().queue_url(&queue).message_body("x".repeat(12 << 20));
    assert_eq!(code(request.send().await), "InvalidParameterValue");
}
