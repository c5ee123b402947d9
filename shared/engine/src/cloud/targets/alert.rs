//! Alerts: a destination of a schedule is told that its runs keep failing.

use std::time::Duration;

use belfry_core::id::ScheduleId;
use belfry_core::instant::Instant;
use belfry_core::schedule::alert::Destination;
use serde_json::Value;

use super::{Refused, Targets, aws, escaped};
use crate::cloud::message::group;

/// How long a destination may take. The run has ended before, but the function waits: its time-out
/// must have room for the call of a target and for this.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// The subject of messages to topics, which e-mails show.
const SUBJECT: &str = "Belfry: a schedule keeps failing";

/// What a destination is told.
pub(crate) struct Alarm<'a> {
    /// The schedule whose runs fail.
    pub(crate) schedule_id: &'a ScheduleId,
    /// Its owner.
    pub(crate) owner: &'a str,
    /// The same for every call about the same streak of failures.
    pub(crate) key: &'a str,
    /// The body.
    pub(crate) body: &'a Value,
}

impl Targets {
    /// Tells a destination. Whatever it does, this ends within seconds.
    pub(crate) async fn alert(
        &self,
        to: &Destination,
        alarm: &Alarm<'_>,
        now: Instant,
    ) -> Result<(), Refused> {
        match tokio::time::timeout(MAX_WAIT, self.tell(to, alarm, now)).await {
            Ok(told) => told,
            Err(_) => Err(Refused::unheard(format!("no answer within {} s", MAX_WAIT.as_secs()))),
        }
    }

    async fn tell(&self, to: &Destination, alarm: &Alarm<'_>, now: Instant) -> Result<(), Refused> {
        let body = alarm.body.to_string();
        match to {
            Destination::Http { url } => {
                let headers = [
                    ("Belfry-Schedule-Id", alarm.schedule_id.to_string()),
                    ("Belfry-User-Id", escaped(alarm.owner)),
                ];
                // What the answer says does not matter: any 2xx accepts the alert.
                self.http.send(url, alarm.key, None, &headers, body, now).await.map(|_| ())
            }
            Destination::Sns { topic_arn } => {
                let group = group(alarm.owner);
                aws::publish(&self.sns, topic_arn, &group, alarm.key, SUBJECT, &body).await?;
                Ok(())
            }
        }
    }
}
