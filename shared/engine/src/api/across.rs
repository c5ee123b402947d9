//! The runs of all schedules of an owner, newest first. The histories of the schedules are merged
//! at the request, so that no fire writes an index for it.

use std::cmp::Reverse;
use std::collections::VecDeque;

use belfry_core::guard::access::Scope;
use belfry_core::id::{RunId, ScheduleId, WorkflowId};
use belfry_core::invalid::Invalid;
use belfry_core::page::Page;
use belfry_core::run::Run;
use belfry_core::run::view::RunView;
use futures::{StreamExt, TryStreamExt, stream};

use super::fitting::fitting;
use super::list::is_tagged;
use super::whose::PAGE;
use crate::app::App;
use crate::cloud::store::{RunFilter, Step};
use crate::fault::Fault;
use crate::schedules::caller::Caller;
use crate::schedules::refusal::Refusal;

/// The most schedules whose histories are merged: each page asks every one of them.
const MAX_SCHEDULES: usize = 1000;
/// The most schedules that are looked through for a tag.
const MAX_LOOKED_AT: usize = 10_000;
/// Queries for a page, beyond the first of each schedule. A page that needs more ends early.
const MAX_QUERIES: usize = 500;
/// Queries made concurrently.
const CONCURRENCY: usize = 32;
/// The fewest runs that are read by one query.
const MIN_READ: usize = 5;

/// The filter and the page that a caller asks for.
pub(crate) struct Wanted {
    /// Whose schedules.
    pub owner: String,
    /// Only runs of schedules that launch this workflow now.
    pub workflow_id: Option<WorkflowId>,
    /// Only runs of schedules with this tag, or with this tag and value.
    pub tag: Option<String>,
    /// Only these runs.
    pub filter: RunFilter,
    /// The page size.
    pub limit: usize,
    /// The last run of the previous page.
    pub cursor: Option<RunId>,
}

/// One page of the runs of an owner's schedules, newest first; runs of the same second in the order
/// of their schedules.
pub(crate) async fn runs(
    app: &App,
    caller: &Caller,
    wanted: &Wanted,
) -> Result<Page<RunView>, Refusal> {
    if !caller.acts_for(&wanted.owner) {
        return Err(Refusal::Forbidden(Scope::Admin));
    }
    let schedules = schedules(app, wanted).await?;
    let each =
        (2 * wanted.limit / schedules.len().max(1)).clamp(MIN_READ, wanted.limit.max(MIN_READ));
    let streams = schedules.into_iter().map(|id| Stream::of(id, wanted.cursor.as_ref())).collect();
    let mut merge = Merge { streams, page: Vec::new(), limit: wanted.limit };
    merge.read(app, wanted, each, usize::MAX).await?;
    let mut left = MAX_QUERIES;
    let next_cursor = loop {
        let frontier = merge.frontier();
        merge.take(frontier.as_ref());
        match frontier {
            _ if merge.page.len() >= wanted.limit => {
                break merge.page.last().map(|run| run.id.clone());
            }
            None => break None,
            Some(Place(key, Reverse(id))) if left == 0 => break RunId::from_keys(id, &key).ok(),
            Some(_) => left -= merge.read(app, wanted, wanted.limit, left).await?,
        }
    };
    // Another owner may have had a schedule of this name before.
    let own: Vec<_> = merge.page.iter().filter(|run| run.owner == wanted.owner).collect();
    let mut items: Vec<_> = own.iter().map(|run| run.view()).collect();
    let kept = fitting(&items);
    let next_cursor = match own.get(kept.saturating_sub(1)) {
        Some(last) if kept < items.len() => Some(last.id.clone()),
        _ => next_cursor,
    };
    items.truncate(kept);
    Ok(Page { items, next_cursor: next_cursor.map(|id| id.to_string()) })
}

/// The schedules that are asked for.
async fn schedules(app: &App, wanted: &Wanted) -> Result<Vec<ScheduleId>, Refusal> {
    let most = if wanted.tag.is_some() { MAX_LOOKED_AT } else { MAX_SCHEDULES };
    let mut ids = named(app, wanted, most + 1).await?;
    if ids.len() > most {
        return Err(too_many(most));
    }
    if let Some(tag) = &wanted.tag {
        let reads: Vec<_> = ids.chunks(PAGE).map(|some| app.store.schedules(some)).collect();
        let found: Vec<_> =
            stream::iter(reads).buffered(CONCURRENCY).try_collect::<Vec<_>>().await?;
        let fit = found.into_iter().flatten().filter(|found| is_tagged(&found.spec, tag));
        ids = fit.map(|schedule| schedule.clock.schedule_id).collect();
    }
    if ids.len() > MAX_SCHEDULES {
        return Err(too_many(MAX_SCHEDULES));
    }
    Ok(ids)
}

/// The schedules of the owner, or those that launch the workflow: at most `most`.
async fn named(app: &App, wanted: &Wanted, most: usize) -> Result<Vec<ScheduleId>, Refusal> {
    if let Some(workflow) = &wanted.workflow_id {
        let users = app.store.users_of(workflow, &wanted.owner, most).await?;
        return Ok(users.schedules.into_iter().map(|user| user.schedule_id).collect());
    }
    let mut ids: Vec<ScheduleId> = Vec::new();
    while ids.len() < most {
        let limit = (most - ids.len()).min(MAX_SCHEDULES + 1);
        let page = app.store.schedules_of(&wanted.owner, limit, ids.last()).await?;
        if page.is_empty() {
            break;
        }
        ids.extend(page);
    }
    Ok(ids)
}

/// The refusal of a request for the runs of more than `most` schedules.
fn too_many(most: usize) -> Refusal {
    let message = format!("must say which schedules: there are more than {most}");
    let problem = |parameter: &str| Invalid::new(parameter, message.as_str());
    Refusal::Invalid(["tag", "workflow_id"].map(problem).into())
}

/// A place in the order of all runs: newer ones are greater.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place(String, Reverse<ScheduleId>);

impl Place {
    fn of(run: &Run) -> Place {
        Place(run.id.sort_key(), Reverse(run.id.schedule_id.clone()))
    }
}

/// The history of one schedule, as far as it was read.
struct Stream {
    id: ScheduleId,
    /// Runs that fit and are not on the page.
    found: VecDeque<Run>,
    /// Where the next query begins.
    next: Next,
}

enum Next {
    /// At this sort key, or at the newest run.
    At(Option<String>),
    /// Behind this sort key.
    Behind(String),
    /// Nowhere: everything was read.
    Nowhere,
}

impl Stream {
    /// The history after a run of the merged list.
    fn of(id: ScheduleId, cursor: Option<&RunId>) -> Stream {
        let next = match cursor {
            None => Next::At(None),
            // A run of the same second comes later in the list if its schedule does.
            Some(last) if id > last.schedule_id => Next::At(Some(last.sort_key())),
            Some(last) => Next::Behind(last.sort_key()),
        };
        Stream { id, found: VecDeque::new(), next }
    }

    /// The place up to which the history was read, if there is more.
    fn reached(&self) -> Option<Place> {
        match &self.next {
            Next::Behind(key) => Some(Place(key.clone(), Reverse(self.id.clone()))),
            Next::At(_) | Next::Nowhere => None,
        }
    }

    async fn read(&mut self, app: &App, filter: &RunFilter, limit: usize) -> Result<(), Fault> {
        let (at, behind) = match &self.next {
            Next::At(key) => (key.as_deref(), None),
            Next::Behind(key) => (None, Some(key.as_str())),
            Next::Nowhere => return Ok(()),
        };
        let Step { runs, reached } = app.store.step(&self.id, filter, at, behind, limit).await?;
        self.found.extend(runs);
        self.next = reached.map_or(Next::Nowhere, Next::Behind);
        Ok(())
    }
}

/// Histories on their way to one list.
struct Merge {
    streams: Vec<Stream>,
    page: Vec<Run>,
    limit: usize,
}

impl Merge {
    /// The newest place behind which a history has not been read: what is older may not be the next.
    fn frontier(&self) -> Option<Place> {
        self.streams.iter().filter_map(Stream::reached).max()
    }

    /// Puts the newest runs on the page, as far as they are known to be the newest.
    fn take(&mut self, frontier: Option<&Place>) {
        while self.page.len() < self.limit {
            let newest = self
                .streams
                .iter_mut()
                .filter_map(|stream| Some((Place::of(stream.found.front()?), stream)))
                .max_by(|(one, _), (other, _)| one.cmp(other));
            match newest {
                Some((place, stream)) if frontier.is_none_or(|frontier| place >= *frontier) => {
                    self.page.extend(stream.found.pop_front());
                }
                _ => return,
            }
        }
    }

    /// Reads on in the histories that were read least far, and of which nothing is left to take.
    /// Answers with the number of queries.
    async fn read(
        &mut self,
        app: &App,
        wanted: &Wanted,
        limit: usize,
        most: usize,
    ) -> Result<usize, Fault> {
        let mut open: Vec<_> = self
            .streams
            .iter_mut()
            .filter(|stream| stream.found.is_empty() && !matches!(stream.next, Next::Nowhere))
            .collect();
        open.sort_by_cached_key(|stream| Reverse(stream.reached()));
        open.truncate(match most {
            usize::MAX => usize::MAX,
            most => most.min(CONCURRENCY),
        });
        let count = open.len();
        let reads = open.into_iter().map(|stream| stream.read(app, &wanted.filter, limit));
        let reads: Vec<_> = reads.collect();
        stream::iter(reads).buffer_unordered(CONCURRENCY).try_collect::<Vec<()>>().await?;
        Ok(count)
    }
}
