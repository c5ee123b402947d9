//! What a launch is judged by: its schedule as it is when its time has come, or as it was a moment
//! before.

use std::sync::Arc;

use belfry_core::fire::verdict::{Verdict, can_be_read_ahead, judge};

use crate::cloud::message::Message;
use crate::cloud::store::Stored;
use crate::cloud::together::Together;
use crate::fault::Fault;

/// A schedule by which a launch is judged.
pub(crate) struct Known {
    /// What was read of it.
    pub(crate) stored: Arc<Stored>,
    /// Whether that was before the launch's time had come.
    pub(crate) ahead: bool,
}

impl Known {
    /// The schedule as it is now.
    pub(crate) async fn now(together: &Together<'_>, message: &Message) -> Result<Known, Fault> {
        let stored = together.schedule(&message.run_id.schedule_id).await?;
        Ok(Known { stored, ahead: false })
    }

    /// The schedule of a message that came early, read while there is time: whatever changes until the
    /// claim has the claim refused. `None`: it is to be read when the time has come.
    pub(crate) async fn ahead(together: &Together<'_>, message: &Message) -> Option<Known> {
        if !message.ahead {
            return None;
        }
        let id = &message.run_id;
        let stored = together.schedule(&id.schedule_id).await.ok()?;
        let Stored::Schedule(both) = &*stored else { return None };
        let launches = judge(Some(&both.0), id, message.revision) == Verdict::Launch;
        (launches && can_be_read_ahead(&both.0, id)).then_some(Known { stored, ahead: true })
    }
}
