//! The tick queue: through it a tick hands over the work that it does not take on.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use belfry_core::id::ScheduleId;
use belfry_core::instant::Instant;
use belfry_core::tick::share::{Duty, HandOver, Share};
use tracing::error;

use crate::fault::in_words;
use crate::settings::Settings;

/// SQS takes no more messages in one call.
const MAX_BATCH: usize = 10;
/// Bytes of one call: below the lowest limit that SQS has had, with room for the envelope of the
/// messages.
const MAX_BYTES: usize = 200 * 1024;
/// Ids in one message: 2,500 of the longest fit into the bytes of a call.
const MAX_NAMED: usize = 2500;

/// The tick queue, if the deployment has one.
#[derive(Clone)]
pub struct TickQueue {
    client: Client,
    url: Option<String>,
}

impl TickQueue {
    /// The tick queue of a deployment.
    pub fn new(client: Client, settings: &Settings) -> TickQueue {
        let url = Some(settings.tick_queue_url.clone()).filter(|url| !url.is_empty());
        TickQueue { client, url }
    }

    /// Whether the deployment has a tick queue.
    pub fn is_there(&self) -> bool {
        self.url.is_some()
    }

    /// Hands shares over. Answers with the shares that could not be sent: the caller keeps them.
    pub async fn hand_over(
        &self,
        shares: Vec<Share>,
        generation: u32,
        ticked_at: Instant,
    ) -> Vec<Share> {
        let Some(url) = &self.url else { return shares };
        let mut kept = Vec::new();
        for batch in batches(shares, generation, ticked_at) {
            let failed = self.send(url, &batch).await;
            kept.extend(batch.into_iter().zip(failed).filter(|(_, f)| *f).map(|((s, _), _)| s));
        }
        kept
    }

    /// Sends a batch. Answers for each of its messages whether it failed.
    async fn send(&self, url: &str, batch: &[(Share, String)]) -> Vec<bool> {
        let entry = |(place, (_, body)): (usize, &(Share, String))| {
            SendMessageBatchRequestEntry::builder().id(place.to_string()).message_body(body).build()
        };
        let entries: Result<Vec<_>, _> = batch.iter().enumerate().map(entry).collect();
        let Ok(entries) = entries else { return vec![true; batch.len()] };
        let request = self.client.send_message_batch().queue_url(url).set_entries(Some(entries));
        match request.send().await {
            Ok(answer) => {
                let is_sent = |place: usize| {
                    answer.successful().iter().any(|sent| sent.id() == place.to_string())
                };
                (0..batch.len()).map(|place| !is_sent(place)).collect()
            }
            Err(problem) => {
                let problem = in_words(&problem);
                error!(%problem, "shares not handed over");
                vec![true; batch.len()]
            }
        }
    }
}

/// Clocks and duties that were read but not handled, in shares that fit into a message.
pub(crate) fn named(clocks: &[ScheduleId], duties: &[Duty]) -> Vec<Share> {
    let of_clocks =
        |clocks: &[ScheduleId]| Share::Named { clocks: clocks.to_vec(), duties: vec![] };
    let of_duties = |duties: &[Duty]| Share::Named { clocks: vec![], duties: duties.to_vec() };
    let clocks = clocks.chunks(MAX_NAMED).map(of_clocks);
    clocks.chain(duties.chunks(MAX_NAMED / 2).map(of_duties)).collect()
}

/// Groups the messages into calls.
fn batches(shares: Vec<Share>, generation: u32, ticked_at: Instant) -> Vec<Vec<(Share, String)>> {
    let mut batches: Vec<Vec<(Share, String)>> = Vec::new();
    let mut bytes = 0;
    for share in shares {
        let work = HandOver { generation, ticked_at, share };
        let body = serde_json::to_string(&work).unwrap_or_default();
        bytes += body.len();
        match batches.last_mut() {
            Some(batch) if batch.len() < MAX_BATCH && bytes <= MAX_BYTES => {
                batch.push((work.share, body));
            }
            _ => {
                bytes = body.len();
                batches.push(vec![(work.share, body)]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use belfry_core::tick::share::{Stretch, Task};

    #[test]
    fn a_call_is_never_larger_than_the_queue_takes() {
        let ids = |count: usize| {
            (0..count).map(|n| format!("{n:064}").parse().unwrap()).collect::<Vec<ScheduleId>>()
        };
        let duty = |n: usize| Duty {
            schedule_id: format!("{n:064}").parse().unwrap(),
            task: Task::Backfill("0123456789abcdef".to_owned()),
        };
        let mut shares = named(&ids(6000), &(0..2000).map(duty).collect::<Vec<_>>());
        assert_eq!(shares.len(), 3 + 2);
        shares.extend((0..25).map(|shard| Share::Shard(Stretch { shard, after: None })));
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let batches = batches(shares, 1, now);
        assert_eq!(batches.iter().map(Vec::len).sum::<usize>(), 30);
        for batch in &batches {
            let bytes: usize = batch.iter().map(|(_, body)| body.len()).sum();
            assert!(batch.len() <= 10 && bytes <= MAX_BYTES, "{} {bytes}", batch.len());
        }
    }
}
