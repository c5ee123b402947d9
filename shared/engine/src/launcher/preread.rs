//! The schedule that a launch is judged by: read when its time has come, or a moment before.

use std::sync::Arc;

use belfry_core::fire::verdict::{Verdict, can_be_read_ahead, judge};
use belfry_core::schedule::Schedule;

use crate::cloud::message::Message;
use crate::cloud::store::{Batch, Stored};
use crate::fault::Fault;

/// A schedule by which a launch is judged.
pub(crate) struct Known {
    stored: Arc<Stored>,
    /// Whether it was read before the launch's time had come.
    pub(crate) ahead: bool,
}

impl Known {
    /// The schedule as it is now.
    pub(crate) async fn now(batch: &Batch, message: &Message) -> Result<Known, Fault> {
        let stored = batch.schedule(&message.run_id.schedule_id).await?;
        Ok(Known { stored, ahead: false })
    }

    /// The schedule of a message that came early, read while there is time: a change until the claim
    /// has the claim refused. `None`: it is to be read when the time has come.
    pub(crate) async fn ahead(batch: &Batch, message: &Message) -> Option<Known> {
        if !message.ahead {
            return None;
        }
        let id = &message.run_id;
        let stored = batch.schedule(&id.schedule_id).await.ok()?;
        let known = Known { stored, ahead: true };
        let clock = &known.schedule()?.clock;
        let launches = judge(Some(clock), id, message.revision) == Verdict::Launch;
        let is_good_enough = launches && can_be_read_ahead(clock, id);
        is_good_enough.then_some(known)
    }

    /// The schedule, unless it is deleted or never was.
    pub(crate) fn schedule(&self) -> Option<&Schedule> {
        match &*self.stored {
            Stored::Schedule(schedule) => Some(schedule),
            _ => None,
        }
    }
}
