//! Mending clocks that no tick can see: they lost their next run or their place in the due index.
//!
//! No step of Belfry leaves a clock so, but a partial restore or an edit of the tables from outside
//! can. Whatever reads a clock anyway mends it: the sweep, the self-check and `GET /schedules/{id}`.

use belfry_core::instant::Instant;
use belfry_core::recovery::check::{Repair, repair};
use belfry_core::schedule::Clock;
use tracing::warn;

use crate::app::App;
use crate::fault::Fault;
use crate::metrics;

/// Puts a clock that is adrift back into the due index. `true`: it was adrift and is not any more.
/// `is_indexed` is whether the index holds the clock; a caller that does not know says yes.
pub(crate) async fn mend(
    app: &App,
    clock: &Clock,
    is_indexed: bool,
    now: Instant,
) -> Result<bool, Fault> {
    let Some(repair) = repair(clock, is_indexed, now) else { return Ok(false) };
    let next = match repair {
        Repair::SetNext(next) => Some(next),
        Repair::PutBack => None,
    };
    let mended = app.store.put_back(clock, next).await?;
    if mended {
        warn!(schedule_id = %clock.schedule_id, ?repair, "clock adrift: put back into the due index");
        app.tally(metrics::CLOCKS_REPAIRED);
    }
    Ok(mended)
}
