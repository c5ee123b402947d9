//! The launch queue: holds each fire until its second.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use belfry_core::id::hex;
use belfry_core::instant::Instant;
use futures::{StreamExt, stream};
use sha2::{Digest, Sha256};

use crate::fault::{Fault, sdk};
use crate::message::Message;
use crate::pace::Gate;
use crate::settings::Settings;

/// SQS takes no more in one call.
const MAX_BATCH: usize = 10;
/// SQS refuses longer delays; the launcher hands an early message back for the rest.
const MAX_DELAY_S: i64 = 900;
/// Calls under way at once.
const CONCURRENCY: usize = 16;

/// The launch queue.
#[derive(Clone)]
pub struct Queue {
    client: Client,
    url: String,
    dead_letters_url: String,
    sends: Gate,
}

/// A message that was delivered too often.
pub struct DeadLetter {
    /// What it says.
    pub body: String,
    receipt: String,
}

/// A message and the owner whose share of the queue it takes.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// What is sent.
    pub message: Message,
    /// Fair queues share their throughput between owners.
    pub owner: String,
}

impl Queue {
    /// The queue of a deployment. As many batches are sent at once as `sends` lets through.
    pub fn new(client: Client, settings: &Settings, sends: Gate) -> Queue {
        Queue {
            client,
            url: settings.launch_queue_url.clone(),
            dead_letters_url: settings.dead_letter_queue_url.clone(),
            sends,
        }
    }

    /// Sends every parcel, ten to a call, so that it arrives no later than its second. Answers for
    /// each parcel, in order: a failed one fails alone.
    pub async fn send(&self, parcels: &[Parcel], now: Instant) -> Vec<Result<(), Fault>> {
        let batches = parcels.chunks(MAX_BATCH).map(|batch| self.send_batch(batch, now));
        let batches: Vec<_> = batches.collect();
        let answers: Vec<_> = stream::iter(batches).buffered(CONCURRENCY).collect().await;
        answers.into_iter().flatten().collect()
    }

    async fn send_batch(&self, parcels: &[Parcel], now: Instant) -> Vec<Result<(), Fault>> {
        let mut request = self.client.send_message_batch().queue_url(&self.url);
        for (place, parcel) in parcels.iter().enumerate() {
            let body = serde_json::to_string(&parcel.message).unwrap_or_default();
            let entry = SendMessageBatchRequestEntry::builder()
                .id(place.to_string())
                .message_body(body)
                .delay_seconds(delay_seconds(parcel.message.launch_at, now))
                .message_group_id(group(&parcel.owner))
                .build();
            match entry {
                Ok(entry) => request = request.entries(entry),
                Err(error) => return refuse_all(parcels, &sdk("build message")(error)),
            }
        }
        let _turn = self.sends.turn().await;
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error) => return refuse_all(parcels, &sdk("call the queue")(error)),
        };
        let place_of = |id: &str| id.parse::<usize>().ok();
        let mut answers: Vec<_> = parcels
            .iter()
            .map(|parcel| Err(fault(parcel, "the queue did not answer for it")))
            .collect();
        for sent in answer.successful() {
            if let Some(answer) = place_of(sent.id()).and_then(|place| answers.get_mut(place)) {
                *answer = Ok(());
            }
        }
        for failed in answer.failed() {
            let place = place_of(failed.id());
            if let Some((place, parcel)) = place.and_then(|p| Some((p, parcels.get(p)?))) {
                answers[place] = Err(fault(parcel, failed.message().unwrap_or(failed.code())));
            }
        }
        answers
    }

    /// Some dead letters; they come again later unless they are buried.
    pub async fn dead_letters(&self) -> Result<Vec<DeadLetter>, Fault> {
        let received = self
            .client
            .receive_message()
            .queue_url(&self.dead_letters_url)
            .max_number_of_messages(MAX_BATCH as i32)
            .send()
            .await
            .map_err(sdk("receive dead letters"))?;
        let letter = |message: aws_sdk_sqs::types::Message| DeadLetter {
            body: message.body.unwrap_or_default(),
            receipt: message.receipt_handle.unwrap_or_default(),
        };
        Ok(received.messages.unwrap_or_default().into_iter().map(letter).collect())
    }

    /// Deletes a dead letter that was dealt with.
    pub async fn bury(&self, letter: &DeadLetter) -> Result<(), Fault> {
        self.client
            .delete_message()
            .queue_url(&self.dead_letters_url)
            .receipt_handle(&letter.receipt)
            .send()
            .await
            .map_err(sdk("delete dead letter"))?;
        Ok(())
    }

    /// Hides a delivered message for a while: it is too early, or its target needs a rest.
    pub async fn hide(&self, receipt: &str, seconds: i64) -> Result<(), Fault> {
        // Twelve hours is the longest SQS hides a message.
        let seconds = i32::try_from(seconds.clamp(0, 43_200)).unwrap_or(0);
        self.client
            .change_message_visibility()
            .queue_url(&self.url)
            .receipt_handle(receipt)
            .visibility_timeout(seconds)
            .send()
            .await
            .map_err(sdk("hide message"))?;
        Ok(())
    }
}

/// Rounded down: the launcher waits for the rest of the second, so that a fire is never late by the
/// queue's coarseness.
fn delay_seconds(launch_at: Instant, now: Instant) -> i32 {
    (launch_at - now).num_seconds().clamp(0, MAX_DELAY_S) as i32
}

/// A message group takes a limited alphabet and length; an owner's name may not.
pub(crate) fn group(owner: &str) -> String {
    let fits =
        !owner.is_empty() && owner.len() <= 128 && owner.chars().all(|c| c.is_ascii_graphic());
    if fits { owner.to_owned() } else { hex(&Sha256::digest(owner)) }
}

fn fault(parcel: &Parcel, problem: &str) -> Fault {
    Fault { doing: format!("send {}", parcel.message.run_id), source: problem.into() }
}

fn refuse_all(parcels: &[Parcel], cause: &Fault) -> Vec<Result<(), Fault>> {
    parcels.iter().map(|parcel| Err(fault(parcel, &cause.to_string()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::Duration;

    #[test]
    fn a_message_arrives_in_the_second_before_its_time() {
        let now: Instant = "2026-01-01T00:00:00.300Z".parse().unwrap();
        let at = |ms| now + Duration::milliseconds(ms);
        assert_eq!(delay_seconds(at(4_700), now), 4);
        assert_eq!(delay_seconds(at(999), now), 0);
        assert_eq!(delay_seconds(at(-5_000), now), 0);
        assert_eq!(delay_seconds(at(3_600_000), now), 900);
    }

    #[test]
    fn every_owner_has_a_group() {
        assert_eq!(group("auth0|ann"), "auth0|ann");
        assert_eq!(group("ann müller").len(), 64);
        assert_eq!(group(&"x".repeat(200)).len(), 64);
    }
}
