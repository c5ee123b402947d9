//! The schedule by which a launch is decided: read at the launch time, or shortly before.

use std::sync::Arc;

use belfry_core::fire::verdict::{Verdict, can_be_read_ahead, judge};
use belfry_core::schedule::Schedule;

use crate::cloud::message::Message;
use crate::cloud::store::{Batch, Stored};
use crate::fault::Fault;

/// A schedule by which a launch is decided.
pub(crate) struct Known {
    stored: Arc<Stored>,
    /// Whether the schedule was read before the launch time.
    pub(crate) ahead: bool,
}

impl Known {
    /// Reads the schedule as it is now.
    pub(crate) async fn now(batch: &Batch, message: &Message) -> Result<Known, Fault> {
        let stored = batch.schedule(&message.run_id.schedule_id).await?;
        Ok(Known { stored, ahead: false })
    }

    /// Reads the schedule of a message that came early, while there is time. If the schedule
    /// changes before the claim, the claim is refused. `None`: the schedule must be read at the
    /// launch time.
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

    /// The schedule; `None` if it was deleted or never existed.
    pub(crate) fn schedule(&self) -> Option<&Schedule> {
        match &*self.stored {
            Stored::Schedule(schedule) => Some(schedule),
            _ => None,
        }
    }
}
