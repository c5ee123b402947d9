//! The embedded SQS on its own: `server <file> [port]` serves the queues stored in that file, and
//! prints its URL.

use std::error::Error;
use std::path::Path;

use belfry_sqs::{Sqs, serve};
use belfry_time::SystemTime;
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: server <file> [port]")?;
    let port: u16 = arguments.next().map_or(Ok(0), |port| port.parse())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}", listener.local_addr()?);
    serve(listener, Sqs::open(Path::new(&file), SystemTime)?, std::future::pending()).await?;
    Ok(())
}
