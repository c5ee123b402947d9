//! The embedded services in a process of their own, so that their CPU time is counted apart from
//! the functions'.

use std::sync::Arc;
use std::time::Duration;

use belfry_local::services::{LAUNCH_QUEUE, Services, Storage};
use belfry_time::SystemTime;
use serde_json::{Value, json};

use crate::child;
use crate::load;

/// The environment that the functions need to reach the services.
pub const SIGNING_KEY: &str = "a key for the bench";

/// Serves until standard input closes. `--data DIR` stores everything in files.
pub async fn serve(arguments: &[String]) {
    let storage = match arguments.iter().position(|argument| argument == "--data") {
        Some(place) => Storage::Folder(arguments[place + 1].clone().into()),
        None => Storage::Memory,
    };
    let services = Services::start(&storage, Arc::new(SystemTime), (0, 0)).await.expect("services");
    let sdk = services.sdk();
    let given = |name: &str| (name == "SIGNING_KEY").then(|| SIGNING_KEY.to_owned());
    let settings = services.prepare(&sdk, given).await.expect("settings");
    child::answer(&json!({
        "AWS_ENDPOINT_URL_DYNAMODB": services.endpoints.dynamodb,
        "AWS_ENDPOINT_URL_SQS": services.endpoints.sqs,
        "LAUNCH_QUEUE_URL": settings.launch_queue_url,
        "DEAD_LETTER_QUEUE_URL": settings.dead_letter_queue_url,
    }));
    child::orders(async |order: Value| {
        // A message is deleted after the results of its fires are recorded.
        if order["do"] == "handled" {
            while services.queues.next_visible_at(LAUNCH_QUEUE).expect("a queue").is_some() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            return json!({"at": crate::machine::now()});
        }
        let database = services.database.clone();
        let loaded = tokio::task::spawn_blocking(move || load::load(&database, &order)).await;
        loaded.expect("a load that ends")
    })
    .await;
}
