//! The launch queue: holds each fire until its launch time.

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use belfry_core::instant::Instant;
use belfry_core::run::Run;
use chrono::Duration;
use futures::{FutureExt, StreamExt, stream};

use crate::cloud::message::{self, Message, group};
use crate::cloud::store::MAX_STATEMENTS;
use crate::cloud::throttle::Gate;
use crate::fault::{Fault, sdk};
use crate::settings::Settings;

/// SQS takes no more messages in one call.
const MAX_BATCH: usize = 10;
/// Fires in one message: as many as a launcher can claim with one call of the tables.
pub const MAX_FIRES: usize = MAX_STATEMENTS;
/// A message becomes visible at least this long before its launch time: time to receive it and to
/// read its schedules.
const AHEAD: Duration = Duration::milliseconds(100);
/// SQS refuses longer delays. A launcher that receives a message too early hides it for the rest.
const MAX_DELAY_S: i64 = 900;
/// Send calls made concurrently.
const CONCURRENCY: usize = 16;

/// The launch queue.
#[derive(Clone)]
pub struct Queue {
    client: Client,
    url: String,
    dead_letters_url: String,
    sends: Gate,
}

/// A message that was received too often.
pub struct DeadLetter {
    /// The body of the message.
    pub body: String,
    receipt: String,
}

/// A message for one fire, and the owner in whose fair-queue group it is sent.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// The message.
    pub message: Message,
    /// The owner: a fair queue shares its throughput between owners.
    pub owner: String,
}

impl Parcel {
    /// The message that names a recorded run.
    pub fn of(run: &Run) -> Parcel {
        let (run_id, revision, launch_at) = (run.id.clone(), run.revision, run.launch_at);
        let message = Message { run_id, revision, launch_at, ahead: false, limit: false };
        Parcel { message, owner: run.owner.clone() }
    }

    /// The message that ends a run if it is still going at `at`.
    pub fn limit(run: &Run, at: Instant) -> Parcel {
        let Parcel { message, owner } = Parcel::of(run);
        Parcel { message: Message { launch_at: at, limit: true, ..message }, owner }
    }
}

impl Queue {
    /// The queue of a deployment. `sends` limits how many batches are sent at once.
    pub fn new(client: Client, settings: &Settings, sends: Gate) -> Queue {
        Queue {
            client,
            url: settings.launch_queue_url.clone(),
            dead_letters_url: settings.dead_letter_queue_url.clone(),
            sends,
        }
    }

    /// Sends every parcel so that it arrives no later than its launch time. Parcels of the same
    /// owner and second share a message, and ten messages share a call. Answers for each parcel, in
    /// order.
    pub async fn send(&self, parcels: &[Parcel], now: Instant) -> Vec<Result<(), Fault>> {
        let letters = pack(parcels, now);
        let batches: Vec<_> = letters.chunks(MAX_BATCH).map(|batch| self.post(batch)).collect();
        let posted: Vec<_> = stream::iter(batches).buffered(CONCURRENCY).collect().await;
        let mut answers: Vec<_> = parcels.iter().map(|_| Ok(())).collect();
        for (letter, posted) in letters.iter().zip(posted.into_iter().flatten()) {
            let Err(problem) = posted else { continue };
            for place in &letter.places {
                let doing = format!("send {}", parcels[*place].message.run_id);
                answers[*place] = Err(Fault { doing, source: problem.clone().into() });
            }
        }
        answers
    }

    /// Sends a fire that came with others again, in a message of its own, to arrive after `after_s`
    /// seconds.
    pub async fn send_apart(
        &self,
        fire: &Message,
        group: Option<&str>,
        after_s: i64,
    ) -> Result<(), Fault> {
        let letter = Letter {
            places: vec![0],
            body: message::write(&[fire]),
            group: group.map(str::to_owned),
            delay_s: seconds(after_s),
        };
        let posted = self.post(&[letter]).await.into_iter().collect::<Result<(), _>>();
        let doing = || format!("send {} in its own message", fire.run_id);
        posted.map_err(|problem| Fault { doing: doing(), source: problem.into() })
    }

    /// Makes one call. Answers for each letter, in order; a letter that fails does not affect the
    /// others.
    async fn post(&self, letters: &[Letter]) -> Vec<Result<(), String>> {
        let all_fail = |problem: String| letters.iter().map(|_| Err(problem.clone())).collect();
        let mut request = self.client.send_message_batch().queue_url(&self.url);
        for (place, letter) in letters.iter().enumerate() {
            let entry = SendMessageBatchRequestEntry::builder()
                .id(place.to_string())
                .message_body(&letter.body)
                .delay_seconds(letter.delay_s)
                .set_message_group_id(letter.group.clone())
                .build();
            match entry {
                Ok(entry) => request = request.entries(entry),
                Err(error) => return all_fail(sdk("build message")(error).to_string()),
            }
        }
        let _turn = self.sends.turn().await;
        let answer = match request.send().boxed().await {
            Ok(answer) => answer,
            Err(error) => return all_fail(sdk("call the queue")(error).to_string()),
        };
        let unheard = "the queue's answer does not mention this message".to_owned();
        let mut answers: Vec<_> = letters.iter().map(|_| Err(unheard.clone())).collect();
        let place_of = |id: &str| id.parse().ok().filter(|place: &usize| *place < letters.len());
        for place in answer.successful().iter().filter_map(|sent| place_of(sent.id())) {
            answers[place] = Ok(());
        }
        for failed in answer.failed() {
            if let Some(place) = place_of(failed.id()) {
                answers[place] = Err(failed.message().unwrap_or(failed.code()).to_owned());
            }
        }
        answers
    }

    /// Receives some dead letters. They become visible again later unless they are deleted.
    pub async fn dead_letters(&self) -> Result<Vec<DeadLetter>, Fault> {
        let received = self
            .client
            .receive_message()
            .queue_url(&self.dead_letters_url)
            .max_number_of_messages(MAX_BATCH as i32)
            .send()
            .boxed()
            .await
            .map_err(sdk("receive dead letters"))?;
        let letter = |message: aws_sdk_sqs::types::Message| DeadLetter {
            body: message.body.unwrap_or_default(),
            receipt: message.receipt_handle.unwrap_or_default(),
        };
        Ok(received.messages.unwrap_or_default().into_iter().map(letter).collect())
    }

    /// Deletes a dead letter that was handled.
    pub async fn bury(&self, letter: &DeadLetter) -> Result<(), Fault> {
        self.client
            .delete_message()
            .queue_url(&self.dead_letters_url)
            .receipt_handle(&letter.receipt)
            .send()
            .boxed()
            .await
            .map_err(sdk("delete dead letter"))?;
        Ok(())
    }

    /// Hides a delivered message for some seconds, because it is too early or its target failed.
    pub async fn hide(&self, receipt: &str, seconds: i64) -> Result<(), Fault> {
        // SQS hides a message for at most twelve hours.
        let seconds = i32::try_from(seconds.clamp(0, 43_200)).unwrap_or(0);
        self.client
            .change_message_visibility()
            .queue_url(&self.url)
            .receipt_handle(receipt)
            .visibility_timeout(seconds)
            .send()
            .boxed()
            .await
            .map_err(sdk("extend message visibility"))?;
        Ok(())
    }
}

/// A message to be sent.
struct Letter {
    /// The positions of the parcels that the message carries.
    places: Vec<usize>,
    body: String,
    group: Option<String>,
    delay_s: i32,
}

/// Packs parcels of the same owner and delay into one message. A message takes the place of its
/// first parcel in the order.
fn pack(parcels: &[Parcel], now: Instant) -> Vec<Letter> {
    let mut packs: Vec<(Vec<usize>, i32)> = Vec::new();
    let mut open: HashMap<(&str, i32), usize> = HashMap::new();
    for (place, parcel) in parcels.iter().enumerate() {
        let delay_s = delay_seconds(parcel.message.launch_at, now);
        let pack = open.entry((&parcel.owner, delay_s)).or_insert(usize::MAX);
        match packs.get_mut(*pack).filter(|(places, _)| places.len() < MAX_FIRES) {
            Some((places, _)) => places.push(place),
            None => {
                *pack = packs.len();
                packs.push((vec![place], delay_s));
            }
        }
    }
    let letter = |(places, delay_s): (Vec<usize>, i32)| {
        let fires: Vec<_> = places.iter().map(|place| &parcels[*place].message).collect();
        let group = places.first().map(|first| group(&parcels[*first].owner));
        Letter { body: message::write(&fires), group, delay_s, places }
    };
    packs.into_iter().map(letter).collect()
}

/// The delay of a message in seconds, rounded down: the launcher waits for the rest of the second,
/// so that a fire is never late because SQS delays in whole seconds.
fn delay_seconds(launch_at: Instant, now: Instant) -> i32 {
    seconds((launch_at - now - AHEAD).num_seconds())
}

fn seconds(delay: i64) -> i32 {
    delay.clamp(0, MAX_DELAY_S) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_in_the_second_before_its_time() {
        let now: Instant = "2026-01-01T00:00:00.300Z".parse().unwrap();
        let at = |ms| now + Duration::milliseconds(ms);
        assert_eq!(delay_seconds(at(4_700), now), 4);
        assert_eq!(delay_seconds(at(5_050), now), 4);
        assert_eq!(delay_seconds(at(5_100), now), 5);
        assert_eq!(delay_seconds(at(999), now), 0);
        assert_eq!(delay_seconds(at(-5_000), now), 0);
        assert_eq!(delay_seconds(at(3_600_000), now), 900);
    }

    #[test]
    fn fires_of_an_owner_and_a_second_share_messages() {
        let now: Instant = "2026-01-01T00:00:00Z".parse().unwrap();
        let parcel = |owner: &str, after_ms| {
            let launch_at = now + Duration::milliseconds(after_ms);
            let run_id = "report@2026-01-01T00:00:00Z".parse().unwrap();
            let message = Message { run_id, revision: 1, launch_at, ahead: false, limit: false };
            Parcel { message, owner: owner.to_owned() }
        };
        let mut parcels: Vec<_> = (0..27).map(|_| parcel("ann", 5_100)).collect();
        parcels.extend([parcel("bob", 5_100), parcel("ann", 6_100), parcel("ann", 6_000)]);
        let letters = pack(&parcels, now);
        let places: Vec<_> = letters.iter().map(|letter| letter.places.clone()).collect();
        let first: Vec<_> = (0..25).collect();
        assert_eq!(places, [first, vec![25, 26, 29], vec![27], vec![28]]);
        let delays: Vec<_> = letters.iter().map(|letter| letter.delay_s).collect();
        assert_eq!(delays, [5, 5, 5, 6]);
        assert_eq!(message::read::<Message>(&letters[1].body).unwrap().len(), 3);
        assert_eq!(letters[2].group.as_deref(), Some("bob"));
    }
}
