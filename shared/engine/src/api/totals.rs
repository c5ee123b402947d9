//! The totals of a caller's schedules, for statistics and the overview.
//!
//! Few schedules are counted at every request. Many are counted when the stored totals are some
//! minutes old. Very many are counted by the daily check, and a request reads what it stored.

use belfry_core::run::totals::{Life, STORED_MINUTES, Totals};
use belfry_core::schedule::Schedule;
use chrono::Duration;
use futures::{StreamExt, TryStreamExt, stream};

use crate::api::whose::{PAGE, Whose};
use crate::app::App;
use crate::cloud::store::Of;
use crate::fault::Fault;
use crate::schedules::caller::Caller;
use crate::schedules::life::life;

/// Schedules that are counted at every request.
const FEW: u64 = 200;
/// Schedules that are counted when the stored totals are too old.
const MANY: u64 = 2000;
/// Schedules of all owners whose number is found before the daily check has counted them.
const VERY_MANY: u64 = 100_000;
/// The age at which stored totals of many schedules are counted anew.
const TOO_OLD: Duration = Duration::minutes(5);
/// Runs of each schedule whose drift is counted, at least, if there are as many.
const OF_EACH: usize = 20;
/// Schedules read concurrently.
pub(super) const CONCURRENCY: usize = 16;

/// The totals of some schedules.
pub(super) struct Counted {
    pub(super) totals: Totals,
    /// The number of schedules now.
    pub(super) schedules: u64,
    /// The owner, if the totals were stored: what is failing now is in the owner's list.
    pub(super) stored_of: Option<String>,
}

/// The totals of the schedules that a caller asks for, with the fires of at least this many minutes to
/// come.
pub(super) async fn totals(
    app: &App,
    caller: &Caller,
    whose: &Whose,
    minutes: usize,
) -> Result<Counted, Fault> {
    let now = app.now();
    let owner = match whose {
        Whose::Own => Some(caller.sub.as_str()),
        Whose::Of(owner) => Some(owner.as_str()),
        Whose::All { .. } => None,
    };
    let number = match owner {
        Some(owner) => app.store.count_of(owner).await?,
        None => number_of_all(app).await?,
    };
    if number <= FEW {
        let nothing = Totals::of_nothing(minutes, now);
        let totals = count(app, caller, whose, FEW, nothing).await?;
        return Ok(Counted { schedules: totals.schedules, totals, stored_of: None });
    }
    let of = owner.map_or(Of::All, Of::Owner);
    let stored = app.store.totals(of).await?;
    let is_good = |totals: &Totals| number > MANY || totals.as_of > now - TOO_OLD;
    let stored_of = owner.map(str::to_owned);
    if let Some(totals) = stored.filter(is_good) {
        let schedules = owner.map_or(totals.schedules, |_| number);
        return Ok(Counted { totals, schedules, stored_of });
    }
    let nothing = Totals::of_nothing(STORED_MINUTES, now);
    let mut totals = count(app, caller, whose, MANY, nothing).await?;
    let number = match owner {
        // There may be more than when they were stored.
        None if totals.schedules >= MANY => at_least(app, VERY_MANY).await?,
        _ => number,
    };
    if number > totals.schedules && totals.schedules >= MANY {
        // The daily check has not counted them yet. The answer says how many were counted.
        totals.coming.truncated = true;
    } else {
        app.store.save_totals(of, &totals).await?;
    }
    Ok(Counted { schedules: number.max(totals.schedules), totals, stored_of })
}

/// The number of all schedules, as far as it matters here: of very many, the number that the daily
/// check has counted.
async fn number_of_all(app: &App) -> Result<u64, Fault> {
    let few = at_least(app, FEW + 1).await?;
    if few <= FEW {
        return Ok(few);
    }
    match app.store.totals(Of::All).await? {
        Some(totals) => Ok(totals.schedules.max(few)),
        None => at_least(app, VERY_MANY).await,
    }
}

/// The number of all schedules, or `most` if there are more.
async fn at_least(app: &App, most: u64) -> Result<u64, Fault> {
    Ok(app.store.schedules_of_all(most as usize, None).await?.len() as u64)
}

/// Adds the first `most` schedules to `totals`.
async fn count(
    app: &App,
    caller: &Caller,
    whose: &Whose,
    most: u64,
    mut totals: Totals,
) -> Result<Totals, Fault> {
    let now = totals.as_of;
    let mut cursor = None;
    while totals.schedules < most {
        let page = whose.some(app, caller, cursor.as_ref()).await?;
        let ids: Vec<_> = page.iter().map(|(_, id)| id.clone()).collect();
        for (schedule, life) in lives(app, app.store.schedules(&ids).await?).await? {
            totals.add(&schedule.clock, &life, now);
        }
        if page.len() < PAGE {
            break;
        }
        cursor = page.into_iter().next_back();
    }
    Ok(totals)
}

/// The schedules, each with its life.
async fn lives(app: &App, schedules: Vec<Schedule>) -> Result<Vec<(Schedule, Life)>, Fault> {
    let reads = schedules.into_iter().map(|schedule| async {
        let life = life(app, &schedule, OF_EACH).await?;
        Ok::<_, Fault>((schedule, life))
    });
    let reads: Vec<_> = reads.collect();
    stream::iter(reads).buffered(CONCURRENCY).try_collect().await
}
