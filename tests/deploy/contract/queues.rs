//! The queues and their event source mappings: time limits that fit each other, and a dead-letter
//! queue for messages that cannot be processed.

use belfry_tests::Template;
use serde_json::json;

use super::{Problems, default, number, referred};

/// Lambda recommends it: a batch may wait for a free launcher, and be retried.
const VISIBILITY_FACTOR: i64 = 6;
/// Dead letters are kept for days, because operators may not look at them at once.
const DEAD_LETTERS_KEPT_S: i64 = 14 * 86_400;

pub(super) fn check(template: &Template, problems: &mut Problems) {
    let launch = template.properties("LaunchQueue");
    let dead = template.properties("DeadLetterQueue");
    let of_default = |name| default(template, name).and_then(|text| text.parse::<i64>().ok());
    let timeout = |function: &str| number(&template.properties(function)["Timeout"]);
    let launcher = timeout("LauncherFunction");
    let visibility = number(&launch["VisibilityTimeout"]);
    problems.unless(launcher > 0, "the launcher has no time-out");
    problems.unless(
        visibility >= VISIBILITY_FACTOR * launcher,
        format!("LaunchQueue hides a message for {visibility} s, not 6 x {launcher} s"),
    );
    let lease = of_default("LaunchLeaseS").unwrap_or_default();
    problems.unless(
        launcher < lease && lease <= visibility,
        format!("the lease ({lease} s) is not between time-out and visibility of the launcher"),
    );
    let target = of_default("TargetTimeoutMs").unwrap_or(i64::MAX);
    let longest = number(template.at("/Parameters/TargetTimeoutMs/MaxValue"));
    problems.unless(
        target.max(longest) < launcher * 1000,
        format!("a target may take {longest} ms, longer than the launcher"),
    );
    let shortest = number(template.at("/Parameters/LaunchLeaseS/MinValue"));
    problems.unless(shortest > launcher, "the template allows a lease shorter than the launcher");
    let lookahead = of_default("LookaheadMs").unwrap_or_default();
    problems.unless(lookahead > 60_000, "the look-ahead is shorter than the rule's minute");

    let redrive = &launch["RedrivePolicy"];
    let target = referred(&redrive["deadLetterTargetArn"]);
    problems.equal("the dead-letter queue", &json!(target), &json!("DeadLetterQueue"));
    let receives = number(&redrive["maxReceiveCount"]);
    let attempts = number(template.at("/Parameters/LaunchMaxAttempts/MaxValue"));
    problems.unless(
        receives > attempts,
        format!("maxReceiveCount ({receives}) is not more than the launches tried ({attempts})"),
    );
    let kept = number(&dead["MessageRetentionPeriod"]);
    problems.unless(kept >= DEAD_LETTERS_KEPT_S, format!("dead letters are kept for {kept} s"));
    problems.unless(
        number(&launch["MessageRetentionPeriod"]) < kept,
        "a dead letter's age counts from when it was first sent: keep it longer",
    );
    problems.unless(
        number(&dead["VisibilityTimeout"]) >= timeout("RecoveryFunction"),
        "recovery may see a dead letter twice in one call",
    );
    for (id, queue) in template.of_type("AWS::SQS::Queue") {
        problems.equal(format!("encryption of {id}"), &queue["SqsManagedSseEnabled"], &json!(true));
        problems.unless(queue["FifoQueue"].is_null(), format!("{id} is not a standard queue"));
    }

    let mapping = template.properties("LaunchMapping");
    problems.equal(
        "FunctionResponseTypes of the mapping",
        &mapping["FunctionResponseTypes"],
        &json!(["ReportBatchItemFailures"]),
    );
    problems.equal("the batch", &mapping["BatchSize"], &json!(10));
    problems.equal("the batching window", &mapping["MaximumBatchingWindowInSeconds"], &json!(0));
    let source = (referred(&mapping["EventSourceArn"]), referred(&mapping["FunctionName"]));
    problems.unless(
        source == ("LaunchQueue", "LauncherFunction"),
        format!("the mapping delivers {} to {}", source.0, source.1),
    );
    ticks(template, timeout("TickFunction"), problems);
    let concurrency = referred(&mapping["ScalingConfig"]["MaximumConcurrency"]);
    problems.unless(
        of_default(concurrency).is_some_and(|most| (2..=1000).contains(&most)),
        "the launcher's concurrency is not bounded",
    );
}

/// A hand-over is the work of a whole tick, and is invisible while a tick works on it.
fn ticks(template: &Template, timeout: i64, problems: &mut Problems) {
    let visibility = number(&template.properties("TickQueue")["VisibilityTimeout"]);
    problems.unless(visibility >= timeout, "a hand-over comes back while a tick works on it");
    let mapping = template.properties("TickMapping");
    problems.equal("a tick's batch", &mapping["BatchSize"], &json!(1));
    let source = (referred(&mapping["EventSourceArn"]), referred(&mapping["FunctionName"]));
    problems.unless(
        source == ("TickQueue", "TickFunction"),
        format!("the mapping of hand-overs delivers {} to {}", source.0, source.1),
    );
    let responses = &mapping["FunctionResponseTypes"];
    problems.equal("what the tick answers", responses, &json!(["ReportBatchItemFailures"]));
}
