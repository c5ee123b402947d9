//! A stack always gets an answer: whatever it requests, whatever fails, and in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_config::retry::RetryConfig;
use belfry_core::instant::Instant;
use belfry_engine::app::App;
use belfry_engine::{functions, metrics};
use belfry_tests::stack::SIGNATURE;
use belfry_tests::{Flaky, Line, Stack, World};
use belfry_time::{Sleep, Time};
use chrono::Duration;
use serde_json::{Value, json};

fn nightly() -> Value {
    json!({"ScheduleId": "n", "Owner": "ann", "WorkflowId": "w", "CronExpr": "0 9 * * *"})
}

async fn status(world: &World, id: &str) -> u16 {
    world.call("GET", &format!("/schedules/{id}"), &Value::Null).await.0
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_answered() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let mut never = nightly();
    never["CronExpr"] = json!("never");
    for more in [
        json!({"RequestType": null}),
        json!({"RequestType": "Import"}),
        json!({"RequestType": ["Create"]}),
        json!({"ResourceType": "Custom::Other"}),
        json!({"ResourceType": null}),
        json!({"ResourceProperties": null}),
        json!({"ResourceProperties": [1, 2]}),
        json!({"ResourceProperties": {"CronExpr": {"Fn::Sub": "x"}, "Tags": "x", "Payload": null}}),
        json!({"ResourceProperties": {"Target": []}, "ResourceType": "Custom::BelfryWorkflow"}),
        json!({"StackId": null}),
        json!({"StackId": "ü".repeat(300)}),
        json!({"LogicalResourceId": 7}),
        json!({"PhysicalResourceId": "", "RequestType": "Update", "OldResourceProperties": 1}),
        json!({"RequestId": null, "ResourceProperties": {"ScheduleId": "\u{0}"}}),
    ] {
        let mut event = stack.request("Create", "Nightly", &never, &more);
        let answer = stack.ask(&world, &event).await;
        assert_eq!(answer["Status"], "FAILED", "{more}: {answer}");
        assert!(!answer["Reason"].as_str().unwrap().is_empty(), "{more}: {answer}");
        // And its rollback.
        let physical_id = answer["PhysicalResourceId"].as_str().unwrap();
        assert!(!physical_id.is_empty(), "{more}");
        event["RequestType"] = json!("Delete");
        event["PhysicalResourceId"] = json!(physical_id);
        assert_eq!(stack.ask(&world, &event).await["Status"], "SUCCESS", "{more}");
    }
    let kept = world.ok("GET", "/schedules", &Value::Null).await;
    assert_eq!(kept["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_done_for_whoever_cannot_be_answered() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    for url in [
        json!("https://example.com/answers?X-Amz-Signature=".to_owned() + SIGNATURE),
        json!("http://10.0.0.1/answers?X-Amz-Signature=".to_owned() + SIGNATURE),
        json!("http://169.254.169.254/latest/meta-data/"),
        json!("file:///etc/passwd"),
        json!(null),
    ] {
        let event = stack.request("Create", "Nightly", &nightly(), &json!({"ResponseURL": url}));
        let deadline = world.now() + Duration::seconds(60);
        let handled = functions::resource(Ok::<_, &String>(&*world.app), event, deadline).await;
        let problem = handled.unwrap_err().to_string();
        assert!(!problem.contains(SIGNATURE), "{problem}");
        assert_eq!(status(&world, "n").await, 404);
    }
    assert!(stack.told().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_delivered_again_until_it_is_taken() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    stack.refuses(&[500, 503, 429]);
    assert_eq!(stack.create(&world, "Nightly", &nightly()).await["Status"], "SUCCESS");
    // An expired signature stays expired: Lambda gets an error, and the URL is not logged.
    stack.refuses(&[403]);
    let event = stack.request("Create", "Nightly", &nightly(), &json!({}));
    let deadline = world.now() + Duration::seconds(60);
    let handled = functions::resource(Ok::<_, &String>(&*world.app), event, deadline).await;
    let problem = handled.unwrap_err().to_string();
    assert!(problem.contains("403") && !problem.contains(SIGNATURE), "{problem}");
}

/// An app of this world of whose calls this many in a thousand fail.
fn flaky(world: &World, rate: u32) -> App {
    let sdk = world.services.sdk();
    let client = Flaky::new(sdk.http_client().unwrap(), rate);
    let sdk =
        sdk.to_builder().http_client(Line(client)).retry_config(RetryConfig::disabled()).build();
    let time = Arc::new(world.time.clone());
    let mut app = App::new(&sdk, world.app.settings.clone(), time);
    app.metrics = metrics::to_nowhere;
    app
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_told_and_the_rollback_leaves_nothing_whatever_was_done() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let down = flaky(&world, 1000);
    let event = stack.request("Create", "Nightly", &nightly(), &json!({}));
    let answer = stack.ask_app(&world, &down, &event).await;
    assert_eq!(answer["Reason"], "a service that Belfry depends on failed; try again");
    assert_eq!(answer["PhysicalResourceId"], "n");

    let shaky = flaky(&world, 150);
    let (mut made, mut refused) = (0, 0);
    for _ in 0..60 {
        let event = stack.request("Create", "Nightly", &nightly(), &json!({}));
        let answer = stack.ask_app(&world, &shaky, &event).await;
        match answer["Status"].as_str().unwrap() {
            "SUCCESS" => {
                made += 1;
                assert_eq!(status(&world, "n").await, 200);
            }
            _ => refused += 1,
        }
        let more = json!({"PhysicalResourceId": answer["PhysicalResourceId"]});
        let delete = stack.request("Delete", "Nightly", &nightly(), &more);
        // CloudFormation's user repeats a deletion that failed.
        for _ in 0..50 {
            if stack.ask_app(&world, &shaky, &delete).await["Status"] == "SUCCESS" {
                break;
            }
        }
        assert_eq!(status(&world, "n").await, 404);
    }
    assert!(made > 0 && refused > 0, "{made} made, {refused} refused");
}

/// A clock that panics when it is read a second time.
struct Broken {
    asked: AtomicUsize,
    now: Instant,
}

impl Time for Broken {
    fn now(&self) -> Instant {
        assert!(self.asked.fetch_add(1, Ordering::SeqCst) < 1, "the clock is broken");
        self.now
    }

    fn sleep_until(&self, _: Instant) -> Sleep<'_> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_answered() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let broken = Broken { asked: AtomicUsize::new(0), now: world.now() };
    let settings = world.app.settings.clone();
    let app = App::new(&world.services.sdk(), settings, Arc::new(broken));
    let event = stack.request("Create", "Nightly", &nightly(), &json!({}));
    let answer = stack.ask_app(&world, &app, &event).await;
    assert_eq!(answer["Status"], "FAILED");
    assert_eq!(answer["Reason"], "Belfry's function failed; its log says more");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invocation_that_runs_out_of_time_is_answered_before() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    // It accepts connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let sdk = aws_config::SdkConfig::builder()
        .behavior_version(aws_config::BehaviorVersion::latest())
        .region(aws_config::Region::new("us-east-1"))
        .credentials_provider(world.services.sdk().credentials_provider().unwrap())
        .http_client(world.services.sdk().http_client().unwrap())
        .endpoint_url(endpoint)
        .build();
    let time = Arc::new(world.time.clone());
    let app = App::new(&sdk, world.app.settings.clone(), time);
    let event = stack.request("Create", "Nightly", &nightly(), &json!({}));
    let mut asked = Box::pin(stack.ask_app(&world, &app, &event));
    let begin = world.now();
    tokio::select! {
        answer = &mut asked => panic!("answered at once: {answer}"),
        () = world.time.until_sleeping(1) => {}
    }
    assert_eq!(world.time.next_wake(), Some(begin + Duration::seconds(45)));
    world.time.set(begin + Duration::seconds(45));
    let answer = asked.await;
    assert_eq!(answer["Reason"], "Belfry's function ran out of time; try again");
    assert_eq!(answer["PhysicalResourceId"], "n");
}
