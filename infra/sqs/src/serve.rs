//! HTTP: the thin layer between a socket and [`Sqs::handle`].

use std::future::Future;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::send::too_long;
use crate::sqs::{Reply, Sqs};

/// A message of 1 MiB may take six times that in JSON escapes, and a request slightly above the
/// limit should get AWS's error message rather than a closed connection.
const MAX_REQUEST_BYTES: usize = 16 << 20;

#[derive(Clone)]
struct Door {
    sqs: Sqs,
    closing: watch::Receiver<bool>,
    address: Arc<str>,
}

/// Serves the queues on this listener until `shutdown` resolves. Waiting polls are then answered
/// empty, so that shutdown does not wait for them.
pub async fn serve(
    listener: TcpListener,
    sqs: Sqs,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let (close, closing) = watch::channel(false);
    let address = listener.local_addr()?.to_string().into();
    let router = Router::new().fallback(answer).with_state(Door { sqs, closing, address });
    // Disables Nagle's algorithm: otherwise small answers wait for the caller's acknowledgement.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router)
        .with_graceful_shutdown(async move {
            shutdown.await;
            close.send_replace(true);
        })
        .await
}

async fn answer(State(mut door): State<Door>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let action = action(&head.headers).to_owned();
    let endpoint = format!("http://{}", host(&head.headers).unwrap_or(&door.address));
    let Ok(body) = to_bytes(body, MAX_REQUEST_BYTES).await else {
        return write(too_long(&action, MAX_REQUEST_BYTES).into_reply());
    };
    tokio::select! {
        biased;
        reply = door.sqs.handle(&action, &body, &endpoint) => write(reply),
        // An error means that the server has ended, which closes the poll too.
        _ = door.closing.wait_for(|closing| *closing) => {
            write(Reply::json(200, &serde_json::json!({})))
        }
    }
}

/// `X-Amz-Target: AmazonSQS.SendMessage` names the action `SendMessage`.
fn action(headers: &HeaderMap) -> &str {
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    target.and_then(|target| target.strip_prefix("AmazonSQS.")).unwrap_or_default()
}

fn host(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::HOST)?.to_str().ok()
}

fn write(reply: Reply) -> Response {
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(reply.body)).unwrap_or_else(|_| {
        let mut broken = Response::new(Body::empty());
        *broken.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        broken
    })
}
